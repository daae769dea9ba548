//! Engines that execute kernels: word by word, in blocks, and as host code.

pub(crate) mod blocks;
pub(crate) mod choice;
#[cfg_attr(not(target_arch = "x86_64"), path = "engines/jit/absent.rs")]
pub(crate) mod jit;
pub(crate) mod reference;
