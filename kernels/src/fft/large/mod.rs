//! Transforms larger than DMEM: two passes over system memory, or three.

mod array;
mod axis;
mod cost;
mod lines;
mod nd;
mod parts;
mod plan;
mod recipe;

pub use lines::Lines;
pub use nd::FftNd;
pub use plan::LargeFft;
pub use recipe::LargeRecipe;
