//! Complex to real: merge of half spectra with the first inverse pass.
//!
//! The formulas and the division into columns are those of `real_split`.

use super::assembly_text::AssemblyText;
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, QUAD};
use super::quad_lanes::{LaneNumber, join, quad_lanes};
use super::radix_constants::RadixConstant;
use super::radix_operands::RadixOperands;
use super::real_split::RealPass;
use crate::fft::TransformDirection;
use crate::pipeline::{BlockBody, BodyOperand, BodyValue};

impl RealPass {
    /// Writes the merge and the first pass of the inverse transform, of radix 1 or even.
    pub(super) fn merge(&self, text: &mut AssemblyText, name: &str) {
        if self.iterations() > 0 {
            self.merge_couples(text, name);
        }
        self.merge_alone(text, &format!("{name}a"))
    }

    /// Makes the columns of the transform's first pass, the upper half of whose rows are conjugates.
    fn first_pass<'a>(&self, constants: &'a RadixOperands) -> ColumnDft<'a> {
        ColumnDft {
            mirrored: true,
            ..ColumnDft::plain(TransformDirection::Inverse, constants)
        }
    }

    fn merge_couples(&self, text: &mut AssemblyText, name: &str) {
        let (r, half) = (self.radix, self.half());
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants(true));
        let one = constants.operand(RadixConstant::Complex(1.0));
        let up = self.spectra(&mut looped, self.from, false);
        let down = self.spectra(&mut looped, self.from, true);
        let turns = self.table(text, &mut looped, name, self.lines(|c| self.turns(c)));
        // Column c becomes the numbers c r .., column L - c those from (L - c) r on.
        let to = [false, true].map(|down| self.results(&mut looped, down));

        let body = &mut looped.body;
        for pair in 0..self.couples_per_iteration() as i64 {
            // X[c + m L] and X[M - c - m L].
            let behind = 2 * pair * self.row();
            let mut load = |m: usize| {
                let offset = self.spectrum_round() * m as i64;
                let x = up.load(body, behind + offset);
                (quad_lanes(x), quad_lanes(down.load(body, behind - offset)))
            };
            let (ups, downs): (Vec<_>, Vec<_>) = (0..r).map(&mut load).unzip();

            // The rows of columns c and L - c of Z: the lower half as they are, the
            // upper half conjugated. Row m of L - c is number M - c - (r - 1 - m) L.
            let [rows, mirrored] = [(); 2].map(|()| rows(body, r));
            for m in 0..half {
                let across = r - 1 - m;
                let (z, y) = (quad_lanes(rows[m]), quad_lanes(mirrored[across]));
                let spectra = (&ups[m][..], &downs[m][..]);
                join(body, [&z, &y], spectra, (&turns[m][..], false), one);
                if r > 1 {
                    let (z, y) = (quad_lanes(mirrored[m]), quad_lanes(rows[across]));
                    let spectra = (&downs[across][..], &ups[across][..]);
                    join(
                        body,
                        [&z, &y],
                        spectra,
                        (&turns[half - 1 - m][..], true),
                        one,
                    );
                }
            }
            let column = self.first_pass(&constants);
            let y = if r == 1 {
                let below = body.quad_op("conj", &[BodyOperand::Whole(mirrored[0])]);
                [rows, vec![below]]
            } else {
                [rows, mirrored].map(|rows| column.transform(body, &rows))
            };
            for (y, to) in y.iter().zip(to) {
                for (m, &y) in (0..).zip(y) {
                    to.add_offset(pair * QUAD).store(body, y, m * self.quads());
                }
            }
        }
        looped.write(text, self.iterations(), name)
    }

    fn merge_alone(&self, text: &mut AssemblyText, name: &str) {
        let (r, alone) = (self.radix, self.single_columns());
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants(true));
        let one = constants.operand(RadixConstant::Complex(1.0));
        let from = self.beginnings(&mut looped, self.from);
        let to = self.block(&mut looped, self.to);
        let numbers = self.single_column_numbers();
        let line = numbers.iter().map(|&k| self.turn(k)).collect();
        let turns = self.load_pairs(text, &mut looped, name, vec![line]);
        let body = &mut looped.body;
        let rows: Vec<Vec<BodyValue>> = alone.iter().map(|_| rows(body, r)).collect();
        for (&k, turn) in numbers.iter().zip(turns) {
            let partner = self.m - k;
            let [x, y] = [k, partner].map(|k| {
                let lanes = LaneNumber::new(body, from.len()).lanes;
                for (&lane, &pointer) in lanes.iter().zip(&from) {
                    body.load(lane, pointer, COMPLEX * k as i64);
                }
                lanes
            });
            // The upper half of the rows are conjugated; of each pair of results the one that is not wanted
            // goes to a spare register.
            let [(z, low), (conjugate, high)] = [k, partner % self.m].map(|k| {
                let upper = k / self.columns() >= r.div_ceil(2);
                (self.number_lanes(&alone, &rows, k), upper)
            });
            if r == 1 && partner % self.m != k {
                // A radix of 1 has no conjugated rows.
                let mirrored = LaneNumber::new(body, from.len()).lanes;
                join(body, [&z, &mirrored], (&x, &y), (&turn[..], false), one);
                for (to, from) in conjugate.into_iter().zip(mirrored) {
                    body.op("conj", &[to], &[from]);
                }
                continue;
            }
            let mut spare = |keep: bool, lanes: Vec<BodyOperand>| match keep {
                true => lanes,
                false => LaneNumber::new(body, from.len()).lanes,
            };
            let (z, conjugate) = (spare(!low, z), spare(high, conjugate));
            join(body, [&z, &conjugate], (&x, &y), (&turn[..], false), one);
        }
        for (columns, rows) in alone.iter().zip(&rows) {
            let y = match r {
                1 => rows.clone(),
                _ => self.first_pass(&constants).transform(body, rows),
            };
            let to = self.column_addresses(to, columns, r);
            for (m, &y) in (0..).zip(&y) {
                to.store(body, y, m * self.quads());
            }
        }
        looped.write(text, self.pairs, name)
    }
}

/// Makes the rows of a column that are not yet computed.
fn rows(body: &mut BlockBody, r: usize) -> Vec<BodyValue> {
    (0..r).map(|_| body.quad()).collect()
}
