//! Checks of DMEM addresses, and circular walks that need none in a loop.
//!
//! Accesses through one root at constant offsets share one check. If a loop's pointer only walks a
//! circular buffer, by a step and in bounds that the loop does not change, it stays inside. Then
//! the buffer is checked once before the first pass ([`IrInstruction::Enter`]), and the walk needs
//! neither checks nor a general `modulo`.
//!
//! With `b <= a < b + l` and `s <= l`, `a + s` is below `b + 2 l`. If it is not below `b + l`,
//! `a + s - l` is below `b + l` again, and not below `b`. If `a`, `b`, `s` and `l` are multiples of
//! the alignment, so is every later `a`.

use super::ir::{Arena, DmemAddress, Id, IrInstruction};
use crate::core::layout::Shared;
use crate::semantics::scalar::Binary;

/// Accesses through one root, all with offsets that are equal modulo their size.
#[derive(Clone, Copy, Debug)]
struct RootAccesses {
    /// Root of the addresses.
    base: Id,
    /// Size of each access in bytes, which is its alignment.
    align: u32,
    /// Lowest offset.
    low: i32,
    /// Highest end of an access, as an offset.
    high: i32,
}

/// Accesses of a segment.
#[derive(Debug, Default)]
pub(super) struct AccessGroups(Vec<RootAccesses>);

/// A pointer that walks round a buffer: its values in a pass.
#[derive(Debug)]
pub(super) struct CircularWalk {
    /// Value at the beginning of the pass.
    pub begin: Id,
    /// Later values, in order.
    pub roots: Vec<Id>,
    pub step: Id,
    pub base: Id,
    pub length: Id,
}

/// True if an [`IrInstruction::Enter`] lets these scalars pass.
fn lets_pass(arena: &Arena, enter: &IrInstruction, scalars: &Shared) -> bool {
    let IrInstruction::Enter {
        values,
        low,
        align,
        size,
        last,
    } = *enter
    else {
        return false;
    };
    let value = |id| match arena.get(id) {
        IrInstruction::Scalar(i) => scalars.0[usize::from(i)],
        // All values of a walk are the segment's first values of scalars.
        _ => 0,
    };
    let [a, s, b, l] = values.map(value);
    let bottom = b.wrapping_add_signed(low);
    a.wrapping_sub(b) < l
        && s <= l
        && (a | s | b | l) % align == 0
        && l <= size
        && bottom <= size
        && bottom + l <= last
}

impl AccessGroups {
    /// Notes an access of `bytes` bytes at `at`.
    pub(super) fn note(&mut self, at: DmemAddress, bytes: u32) {
        let end = at.offset + bytes as i32;
        let same = |g: &&mut RootAccesses| {
            g.base == at.base
                && g.align == bytes
                && (g.low - at.offset).rem_euclid(bytes as i32) == 0
        };
        if let Some(group) = self.0.iter_mut().find(same) {
            group.low = group.low.min(at.offset);
            group.high = group.high.max(end);
        } else {
            self.0.push(RootAccesses {
                base: at.base,
                align: bytes,
                low: at.offset,
                high: end,
            });
        }
    }

    /// Returns the checks as instructions; `None` if no address could pass.
    ///
    /// The root itself must lie in memory too, so that no sum wraps around 2^32.
    pub(super) fn checks(&self, dmem_bytes: u32) -> Option<Vec<IrInstruction>> {
        let check = |group: &RootAccesses| {
            let align = group.align as i32;
            let low = if group.low > 0 {
                (group.low.rem_euclid(align) - align) % align
            } else {
                group.low
            };
            let span = u32::try_from(group.high.max(0) - low).ok()?;
            Some(IrInstruction::Check {
                base: group.base,
                low,
                align: group.align,
                last: dmem_bytes.checked_sub(span)?,
            })
        };
        self.0.iter().map(check).collect()
    }

    /// Replaces the checks of accesses through `walk` by conditions that must hold before the first
    /// pass, and returns these. Returns `None`, and changes nothing, if there are no such
    /// conditions or if `scalars` do not satisfy them.
    pub(super) fn enter(
        &mut self,
        walk: &CircularWalk,
        arena: &Arena,
        dmem_bytes: u32,
        scalars: &Shared,
    ) -> Option<Vec<IrInstruction>> {
        let through = |g: &&RootAccesses| g.base == walk.begin || walk.roots.contains(&g.base);
        let enter = |g: &RootAccesses| {
            let align = g.align as i32;
            let (low, high) = (g.low.min(0), g.high.max(align));
            // The last element of the buffer begins one alignment before its end.
            let beyond = u32::try_from(high - align - low).ok()?;
            (g.low % align == 0).then_some(IrInstruction::Enter {
                values: [walk.begin, walk.step, walk.base, walk.length],
                low,
                align: g.align,
                size: dmem_bytes,
                last: dmem_bytes.checked_sub(beyond)?,
            })
        };
        let entered: Option<Vec<IrInstruction>> =
            self.0.iter().filter(through).map(enter).collect();
        let pass = |enter: &IrInstruction| lets_pass(arena, enter, scalars);
        let entered = entered.filter(|all| all.iter().all(pass))?;
        self.0.retain(|g| !through(&g));
        Some(entered)
    }
}

impl CircularWalk {
    /// Finds the walk that began in scalar `register` and ends the pass as `end`.
    pub(super) fn find(
        arena: &Arena,
        register: u8,
        end: Id,
        unchanged: impl Fn(Id) -> bool,
    ) -> Option<Self> {
        let IrInstruction::Modulo(_, step, base, length) = arena.get(end) else {
            return None;
        };
        let mut roots = Vec::new();
        let mut id = end;
        loop {
            match arena.get(id) {
                IrInstruction::Modulo(a, s, b, l) if (s, b, l) == (step, base, length) => {
                    roots.push(id);
                    id = a;
                }
                IrInstruction::Scalar(r) if r == register => break,
                _ => return None,
            }
        }
        roots.reverse();
        [step, base, length]
            .into_iter()
            .all(unchanged)
            .then_some(Self {
                begin: id,
                roots,
                step,
                base,
                length,
            })
    }

    /// Replaces the walk's `modulo` instructions, which `top` lists, by simple steps.
    pub(super) fn simplify(&self, arena: &mut Arena, top: &mut Vec<Id>) {
        let (end, new) = arena.add(IrInstruction::Compute(Binary::Add, self.base, self.length));
        let first = top.iter().position(|id| self.roots.contains(id));
        if let (true, Some(first)) = (new, first) {
            top.insert(first, end);
        }
        let mut a = self.begin;
        for &root in &self.roots {
            arena.insts[root as usize] = IrInstruction::Walk(a, self.step, end, self.length);
            a = root;
        }
    }
}
