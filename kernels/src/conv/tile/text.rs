//! A schedule as assembly text.

use super::{Move, Op, Tile};

impl Tile {
    /// The words of `tiles` tiles as assembly text.
    pub(in crate::conv) fn text(&self, tiles: usize) -> String {
        let mut text = String::new();
        for part in &self.prologue {
            text += &format!("        {}\n", self.written(*part, 0));
        }
        match tiles {
            0 => {}
            1 => self.pass(&mut text, false, false),
            _ => {
                self.pass(&mut text, false, true);
                if tiles > 2 {
                    text += &format!("        loop {} {{\n", tiles - 2);
                    self.pass(&mut text, true, true);
                    text += "        }\n";
                }
                self.pass(&mut text, true, false);
            }
        }
        for part in &self.epilogue {
            text += &format!("        {}\n", self.written(*part, 1));
        }
        text
    }

    /// One tile, with or without what belongs to its neighbours.
    fn pass(&self, text: &mut String, before: bool, after: bool) {
        for (op, part) in self.ops.iter().zip(&self.moves) {
            let part = part.filter(|p| (p.1 <= 0 || before) && (p.1 >= 0 || after));
            let op = op.map(|op| self.arithmetic(op));
            let part = part.map(|(part, tile)| self.written(part, tile));
            *text += "        ";
            *text += &match (op, part) {
                (Some(op), Some(part)) => format!("{op} || {part}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "nop".to_owned(),
            };
            *text += "\n";
        }
    }

    fn register(&self, index: usize) -> String {
        let kind = if self.shape.real { 'q' } else { 'r' };
        format!("{kind}{index}")
    }

    fn arithmetic(&self, op: Op) -> String {
        let width = self.shape.width();
        let sum = self.register(op.accumulator);
        let to = if op.last {
            self.register(width + op.accumulator)
        } else {
            sum.clone()
        };
        let (x, h) = (
            self.register(self.samples[op.sample]),
            self.register(self.taps[op.tap]),
        );
        match (self.shape.real, op.first) {
            (true, true) => format!("mul {to}, {x}, {h}"),
            (true, false) => format!("madd {to}, {x}, {h}, {sum}"),
            (false, true) => format!("cmul {to}, {x}, {h}"),
            (false, false) => format!("cmadd {to}, {x}, {h}, {sum}"),
        }
    }

    /// A move for the tile that is `tile` before the current one.
    fn written(&self, part: Move, tile: i32) -> String {
        let (width, lanes) = (self.shape.width(), self.shape.lanes());
        let pair = |register: usize, lane: usize| format!("r{}", lanes * register + lane);
        // Early: the pointers have not come to the next tile yet; late: they have left.
        let at = |offset: usize, step: usize| offset as i64 - i64::from(tile) * (8 * step) as i64;
        let address = |pointer: &str, offset: i64| match offset {
            0 => format!("[{pointer}]"),
            1.. => format!("[{pointer} + {offset}]"),
            _ => format!("[{pointer} - {}]", -offset),
        };
        match part {
            Move::Sample(sample, lane) => {
                let offset = at(self.offsets[sample], width * self.shape.decimate);
                let pointer = ["a0", "a3"][lane];
                let to = pair(self.samples[sample], lane);
                format!("ldp {to}, {}", address(pointer, offset))
            }
            Move::Tap(tap) => {
                let to = self.register(self.taps[tap]);
                let load = if self.shape.real { "ldd" } else { "ldp" };
                format!("{load} {to}, {}", address("a2", 8 * tap as i64))
            }
            Move::Store {
                register,
                place,
                lane,
            } => {
                let (output, phase) = (place % width, place / width);
                let place = 8 * (output * self.shape.interpolate + phase);
                let offset = at(place, width * self.shape.interpolate);
                let pointer = ["a1", "a4"][lane];
                let from = pair(width + register, lane);
                format!("stp {from}, {}", address(pointer, offset))
            }
            Move::Advance(pointer, by) => format!("addi {pointer}, {pointer}, {by}"),
        }
    }
}
