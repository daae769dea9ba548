//! Transforms larger than DMEM: two passes over system memory, or three.

mod array_pages;
mod axis_pass;
mod column_and_row_pages;
mod column_and_row_ring;
mod complex;
mod cross_section;
mod divided_axis;
mod divided_axis_planner;
mod divided_axis_ring;
mod divided_rows;
mod inverse_real_column_ring;
mod inverse_real_pages;
mod inverse_real_row_ring;
mod line_batch;
mod nd;
mod program_prefetch;
mod real;
mod real_column_cost;
mod real_column_ring;
mod real_pages;
mod real_recipe;
mod real_row_ring;
mod recipe;
mod twiddles;
mod two_axis_pass;
mod weighted_field;

pub use complex::FourStepFft;
pub use cross_section::CrossSectionFft;
pub(in crate::fft) use cross_section::{CrossSectionMemory, FACTORS_EVENT};
pub use line_batch::LineBatch;
pub use nd::FftNd;
pub(in crate::fft) use real::FourStepReal;
pub use recipe::FourStepRecipe;
pub(crate) use weighted_field::FieldFft;
