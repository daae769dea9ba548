//! Transforms larger than DMEM: two passes over system memory.

mod entry;
mod lines;
mod plan;
mod recipe;

pub use entry::LargeFftKernel;
pub use lines::Lines;
pub use plan::LargeFft;
pub use recipe::LargeRecipe;
