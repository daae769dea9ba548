//! The engines that execute words: one word at a time, blocks, and compiled code.

pub(crate) mod blocks;
pub(crate) mod choice;
#[cfg_attr(not(target_arch = "x86_64"), path = "engines/jit/absent.rs")]
pub(crate) mod jit;
pub(crate) mod reference;
