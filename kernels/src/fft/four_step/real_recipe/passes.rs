//! The column and row passes of a real division, with their pages.

use super::FourStepRealRecipe;
use crate::fft::TransformDirection;
use crate::fft::four_step::column_and_row_pages::{ColumnPages, RowPages};
use crate::fft::four_step::column_and_row_ring::{ColumnRingPages, RowRingPages};
use crate::fft::four_step::inverse_real_column_ring::InverseRealColumnRingPages;
use crate::fft::four_step::inverse_real_pages::InverseRealRowPages;
use crate::fft::four_step::inverse_real_row_ring::InverseRealRowRingPages;
use crate::fft::four_step::line_batch::COMPLEX;
use crate::fft::four_step::real_column_ring::RealColumnRingPages;
use crate::fft::four_step::real_pages::{HalfSpectrumRowPages, RealColumnPages};
use crate::fft::four_step::real_row_ring::HalfSpectrumRingPages;
use cp2_host::paging::{Ring, RingPass};

impl FourStepRealRecipe {
    /// Describes both passes of `batch` transforms from `x` over the array at `between` to `y`, with the
    /// addresses of the factors of each.
    pub(in crate::fft::four_step) fn passes(
        &self,
        [first, second]: [Ring; 2],
        batch: u64,
        [x, between, y]: [u64; 3],
        factors: [u64; 2],
    ) -> [RingPass; 2] {
        if self.direction == TransformDirection::Inverse {
            let columns = self.make_inverse_columns(&self.columns, batch, [x, between], factors[0]);
            let columns = match self.is_in_parts(0) {
                true => RingPass::new(first, InverseRealColumnRingPages { columns }),
                false => RingPass::new(first, columns),
            };
            let (lines, blocks) = (self.rows.clone(), self.blocks());
            if self.is_in_parts(1) {
                let rows = RowRingPages {
                    lines,
                    sections: self.sections,
                    matrices: batch,
                    height: blocks.height / 2,
                    tile: 1,
                    from: between,
                    to: y,
                    factors: factors[1],
                };
                return [
                    columns,
                    RingPass::new(second, InverseRealRowRingPages { rows, blocks }),
                ];
            }
            let rows = RowPages {
                resident: 0,
                lines,
                sections: self.sections,
                matrices: batch,
                height: blocks.height / 2,
                sharing: 1,
                tile: 1,
                from: between,
                to: y,
                factors: factors[1],
            };
            let rows = InverseRealRowPages {
                rows,
                blocks: self.blocks(),
                resident: self.resident,
                apart: self.has_ends(),
            };
            return [columns, RingPass::new(second, rows)];
        }
        let tiles = self.tiles();
        let parts = || RealColumnRingPages {
            columns: ColumnRingPages {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch,
                width: self.rows.len() as u64 / 2,
                from: x,
                to: between,
                tiled: true,
            },
            tiles,
        };
        let wholes = || RealColumnPages {
            columns: ColumnPages {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch,
                width: self.rows.len() as u64 / 2,
                from: x,
                to: between,
                tiled: None,
                factors: None,
            },
            tiles,
        };
        let columns = match self.is_in_parts(0) {
            true => RingPass::new(first, parts()),
            false => RingPass::new(first, wholes()),
        };
        let rows = HalfSpectrumRowPages {
            rows: self.half_rows(),
            matrices: batch,
            tiles,
            from: between,
            to: y,
            pitch: self.pitch() * COMPLEX,
            factors: factors[1],
            resident: self.resident,
        };
        let second = match self.is_in_parts(1) {
            true => RingPass::new(second, HalfSpectrumRingPages { rows }),
            false => RingPass::new(second, rows),
        };
        [columns, second]
    }
}
