//! Transforms larger than DMEM: two passes over system memory, or three.

mod array;
mod axis;
mod back_columns;
mod back_parts;
mod behind;
mod cost;
mod factors;
mod joint;
mod joint_parts;
mod lines;
mod nd;
mod pages;
mod pair;
mod parts;
mod plan;
mod real;
mod real_back;
mod real_column_parts;
mod real_division;
mod real_pages;
mod real_parts;
mod recipe;
mod split;
mod tiles;
mod weighed;

pub use lines::Lines;
pub use nd::FftNd;
pub use plan::LargeFft;
pub(in crate::fft) use real::LargeReal;
pub use recipe::LargeRecipe;
pub(crate) use weighed::FieldFft;
