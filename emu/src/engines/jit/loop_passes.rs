//! Loops: values carried from pass to pass, and code after the last pass.

use super::build::SegmentBuilder;
use super::code_form::CodeForm;
use super::ir::{Id, IrInstruction, VectorHalves};
use super::segment_steps::{DmemAccess, PairValue, PairValues, REGISTERS, SegmentSteps};
use super::vector_sharing::Partners;
use super::vectors::PairOperand;
use std::collections::HashMap;

/// A vector that a loop carries from pass to pass, or one that no pass changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CarriedVector {
    /// Pair registers in its halves, if the loop changes them.
    pub pairs: [Option<u8>; 2],
    /// Value at the beginning of a pass.
    pub begin: Id,
    /// Value at the end of a pass; equal to `begin` if the loop does not change it.
    pub end: Id,
}

impl CarriedVector {
    const fn fixed(id: Id) -> Self {
        Self {
            pairs: [None; 2],
            begin: id,
            end: id,
        }
    }
}

/// Layout, between two passes, of the pair registers that a loop uses and changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoopRegisters {
    /// Pair registers carried in host registers, by the halves of vectors.
    pub carried: Vec<[Option<u8>; 2]>,
    /// Vectors of the register file that are loaded and stored in every pass.
    pub through: Vec<u8>,
}

/// Uses of the registers' values at the beginning of a pass.
struct Uses {
    used: [bool; REGISTERS],
    /// True if a value is used otherwise than as a factor each of whose lanes is spread over a
    /// whole vector.
    straight: [bool; REGISTERS],
}

impl Uses {
    fn find(steps: &SegmentSteps, partners: &[Option<usize>]) -> Self {
        let mut uses = Self {
            used: [false; REGISTERS],
            straight: [false; REGISTERS],
        };
        let mut note = |value: PairValue, straight: bool| {
            if let Some(used) = uses.used.get_mut(value as usize) {
                *used = true;
                uses.straight[value as usize] |= straight;
            }
        };
        for (at, step) in steps.steps.iter().enumerate() {
            if let Some(arith) = &step.arith {
                let partner = partners.get(at).copied().flatten();
                let beside = partner.and_then(|j| steps.steps[j].arith.as_ref());
                for (i, values) in arith.ins.iter().enumerate() {
                    let one = beside.is_none_or(|other| other.ins[i] == *values);
                    let factor = arith.row.factor() == Some(i) && one;
                    values.iter().for_each(|value| note(*value, !factor));
                }
            }
            let stored = step.access.iter().filter_map(DmemAccess::stores);
            stored.flatten().for_each(|value| note(value, true));
        }
        for (r, value) in steps.last.iter().enumerate() {
            if *value as usize != r {
                note(*value, true);
            }
        }
        uses
    }
}

impl LoopRegisters {
    /// Returns the layout of the register file, vector by vector.
    pub(super) fn natural(steps: &SegmentSteps, form: CodeForm) -> Self {
        let uses = Uses::find(steps, &[]);
        let mut layout = Self::default();
        let mut rest = Vec::new();
        for home in 0..form.homes() {
            let first = form.pairs() * home;
            let of = |half: usize| {
                let r = first + half;
                let goes = half < form.pairs() && uses.used[r] && steps.last[r] as usize != r;
                goes.then_some(r as u8)
            };
            let pairs = [of(0), of(1)];
            let mut held = pairs.iter().flatten();
            if held.clone().next().is_none() {
                continue;
            }
            // A load from memory spreads a lane at no extra cost.
            if held.any(|r| uses.straight[usize::from(*r)]) {
                rest.push((home as u8, pairs));
            } else {
                layout.through.push(home as u8);
            }
        }
        // Vectors that do not fit go through memory in every pass.
        let most = rest.len().min(form.carried());
        layout
            .through
            .extend(rest.split_off(most).iter().map(|(home, _)| *home));
        layout.carried = rest.into_iter().map(|(_, pairs)| pairs).collect();
        layout
    }

    /// Returns a layout with registers in one vector whose values share one when a pass ends.
    pub(super) fn collect_carried(
        steps: &SegmentSteps,
        partners: &[Option<usize>],
        places: &Partners,
        form: CodeForm,
    ) -> Self {
        let uses = Uses::find(steps, partners);
        let mut carried: Vec<[Option<u8>; 2]> = Vec::new();
        let mut of: HashMap<u32, usize> = HashMap::new();
        for r in (0..REGISTERS).filter(|r| uses.used[*r] && steps.last[*r] as usize != *r) {
            let Some((v, upper)) = places.place(steps.last[r]) else {
                continue;
            };
            let k = *of.entry(v).or_insert(carried.len());
            match carried.get_mut(k) {
                Some(pairs) if pairs[usize::from(upper)].is_none() => {
                    pairs[usize::from(upper)] = Some(r as u8);
                }
                _ => {
                    let mut pairs = [None; 2];
                    pairs[usize::from(upper)] = Some(r as u8);
                    carried.push(pairs);
                }
            }
        }
        // A load from memory spreads a lane at no extra cost, and registers that do not fit go
        // through memory.
        let straight = |r: &u8| uses.straight[usize::from(*r)];
        carried.sort_by_key(|pairs| !pairs.iter().flatten().any(straight));
        let fit = carried
            .iter()
            .filter(|pairs| pairs.iter().flatten().any(straight))
            .count();
        let rest = carried.split_off(fit.min(form.carried()));
        let mut through: Vec<u8> = Vec::new();
        for r in rest.iter().flatten().flatten() {
            let home = r / form.pairs() as u8;
            if !through.contains(&home) {
                through.push(home);
            }
        }
        // A vector of the register file is stored as a whole.
        for half in carried.iter_mut().flatten() {
            *half = half.filter(|r| !through.contains(&(r / form.pairs() as u8)));
        }
        carried.retain(|pairs| pairs.iter().flatten().next().is_some());
        Self { carried, through }
    }
}

impl SegmentBuilder {
    /// Begins a pass of a loop that carries the vectors of `layout`.
    pub(super) fn begin_loop(&mut self, layout: &LoopRegisters) {
        for (k, pairs) in layout.carried.iter().enumerate() {
            let (v, _) = self.s.arena.add(IrInstruction::Begin(k as u8));
            for (r, hi) in pairs.iter().zip([false, true]) {
                if let Some(r) = r {
                    self.values[usize::from(*r)] = Some(VectorHalves { v, hi });
                }
            }
        }
    }

    /// Returns the layout in which the pass built so far leaves the carried registers. A register
    /// that shares no vector stays in its half.
    pub(super) fn leaving_layout(
        &mut self,
        last: &PairValues,
        layout: &LoopRegisters,
    ) -> LoopRegisters {
        let mut carried: Vec<[Option<u8>; 2]> = Vec::new();
        let mut of: HashMap<Id, usize> = HashMap::new();
        for r in layout.carried.iter().flatten().flatten() {
            let half = self.half(last[usize::from(*r)]);
            let side = usize::from(half.hi);
            match of.get(&half.v) {
                Some(&k) if carried[k][side].is_none() => carried[k][side] = Some(*r),
                _ => {
                    of.insert(half.v, carried.len());
                    let mut pairs = [None; 2];
                    pairs[side] = Some(*r);
                    carried.push(pairs);
                }
            }
        }
        // Single lower and upper halves are joined while there are too many vectors.
        while carried.len() > self.s.form.carried() {
            let alone = |side: usize| {
                let other = 1 - side;
                let single =
                    |pairs: &[Option<u8>; 2]| pairs[side].is_some() && pairs[other].is_none();
                carried.iter().rposition(single)
            };
            let (Some(lo), Some(hi)) = (alone(0), alone(1)) else {
                break;
            };
            carried[lo][1] = carried[hi][1];
            carried.remove(hi);
        }
        LoopRegisters {
            carried,
            through: layout.through.clone(),
        }
    }

    /// Builds the end values of a loop's pass. Returns the code after the last pass and the carried
    /// vectors.
    pub(super) fn end_of_loop(
        &mut self,
        last: &PairValues,
        layout: &LoopRegisters,
    ) -> (Vec<Id>, Vec<CarriedVector>) {
        let form = self.s.form;
        // A first value that ends in another register is used bit by bit.
        for (r, value) in last.iter().enumerate() {
            if (*value as usize) < REGISTERS && *value as usize != r {
                self.note(*value, true);
            }
        }
        let mut all = Vec::new();
        for (k, pairs) in layout.carried.iter().enumerate() {
            let (begin, _) = self.s.arena.add(IrInstruction::Begin(k as u8));
            all.push(CarriedVector {
                pairs: *pairs,
                begin,
                end: self.carry(last, *pairs),
            });
        }
        let through: Vec<(u8, Id, Id)> = layout
            .through
            .iter()
            .map(|home| {
                let first = (form.pairs() * usize::from(*home)) as u8;
                let both = [Some(first), (!form.narrow()).then_some(first + 1)];
                let begin = self.s.emit(IrInstruction::Home(*home));
                (*home, begin, self.carry(last, both))
            })
            .collect();
        let used = self.used;
        let same: Vec<Id> = (0..form.homes())
            .filter(|home| {
                let pairs = form.pairs() * home..form.pairs() * (home + 1);
                let same = |r: usize| used[r] && last[r] as usize == r;
                !layout.through.contains(&(*home as u8)) && pairs.into_iter().any(same)
            })
            .map(|home| self.s.emit(IrInstruction::Home(home as u8)))
            .collect();
        self.carry_unchanged(&mut all, &same);
        let begins: Vec<Id> = all.iter().map(|c| c.begin).collect();
        self.s.body.retain(|id| !begins.contains(id));
        self.store_memory_carried(&through);
        let body = std::mem::take(&mut self.s.body);
        // From here on the list collects the code after the loop.
        let raw = |s: &Self, home: u8| {
            let stored = through.iter().find(|(at, ..)| *at == home);
            stored.is_none_or(|(.., end)| s.s.is_raw(*end))
        };
        let left: Vec<bool> = (0..form.homes())
            .map(|home| raw(self, home as u8))
            .collect();
        let homes = self.homes(last, |home| left[usize::from(home)]);
        let mut exit = std::mem::replace(&mut self.s.body, body);
        exit.extend(homes);
        (exit, all)
    }

    /// Stores the vectors that go through memory from pass to pass: each as soon as its value is
    /// known and the old one has been read.
    fn store_memory_carried(&mut self, through: &[(u8, Id, Id)]) {
        for (home, begin, end) in through {
            let at = |id: &Id| self.s.body.iter().position(|listed| listed == id);
            let after = match (at(begin), at(end)) {
                (Some(begin), Some(end)) if begin < end => end,
                _ => self.s.body.len().wrapping_sub(1),
            };
            let (store, _) = self.s.arena.add(IrInstruction::SetHome(*home, *end));
            self.s.body.insert(after.wrapping_add(1), store);
        }
    }

    /// Adds values that no pass changes to the carried vectors, while there is room: lanes of the
    /// vectors `same` and constants, then those vectors themselves.
    fn carry_unchanged(&mut self, all: &mut Vec<CarriedVector>, same: &[Id]) {
        let fixed = |inst: IrInstruction| match inst {
            IrInstruction::Shuffle(a, b, _) | IrInstruction::Pick(a, b, _) => {
                same.contains(&a) && same.contains(&b)
            }
            IrInstruction::Splat(_) => true,
            _ => false,
        };
        let arena = &self.s.arena;
        let (hoisted, rest): (Vec<Id>, Vec<Id>) =
            self.s.body.iter().partition(|id| fixed(arena.get(**id)));
        let needed = |home: &Id| {
            let uses = |id: &Id| arena.get(*id).uses().contains(&Some(*home));
            rest.iter().any(uses)
        };
        let quads: Vec<Id> = same.iter().copied().filter(needed).collect();
        let room = self.s.form.carried().saturating_sub(all.len());
        if hoisted.len() + quads.len() > room {
            // There is no room for all: only register vectors are carried, and lanes and constants
            // are made again in each pass.
            let quads = same.iter().copied().take(room);
            all.extend(quads.map(CarriedVector::fixed));
            return;
        }
        all.extend(hoisted.into_iter().chain(quads).map(CarriedVector::fixed));
        // A vector that is not used any more need not be loaded either.
        self.s.body.retain(|id| !same.contains(id));
    }

    /// Returns the end value of a carried vector. NaN are made canonical only if the next pass uses
    /// the value bit by bit.
    fn carry(&mut self, last: &PairValues, pairs: [Option<u8>; 2]) -> Id {
        let held: Vec<usize> = pairs.iter().flatten().map(|r| usize::from(*r)).collect();
        let observed = held.iter().any(|r| self.observed[*r]);
        let mut halves = Vec::new();
        for r in &held {
            halves.push(self.half(last[*r]));
        }
        let raw = halves.iter().all(|half| self.s.is_raw(half.v));
        if observed || !raw {
            for (half, r) in halves.iter_mut().zip(&held) {
                self.note(last[*r], true);
                *half = self.s.observed(*half);
            }
        }
        let end = match (pairs, halves.as_slice()) {
            (_, &[lo, hi]) => self.s.pack(lo, hi),
            ([None, Some(_)], &[half]) => self.s.value(PairOperand::One(half, true)),
            (_, &[half]) => self.s.value(PairOperand::One(half, false)),
            _ => 0,
        };
        // The code after the loop finds the values in this vector too.
        for (r, hi) in pairs.iter().zip([false, true]) {
            if let Some(r) = r {
                self.values[last[usize::from(*r)] as usize] = Some(VectorHalves { v: end, hi });
            }
        }
        end
    }
}
