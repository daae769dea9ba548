//! How matrices are divided into blocks and passes: the least time by the machine's data.

use super::{COMPLEX, made};
use cp2_machine::Machine;

/// Rows of a band and columns of a block at most, but for blocks of whole rows or columns.
const MOST: usize = 64;
/// Bytes of a block of several matrices.
const SEVERAL: usize = 4096;

/// Blocks of `band` rows and `strip` columns; or of several whole matrices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) band: usize,
    pub(super) strip: usize,
    /// Matrices of a block.
    pub(super) each: usize,
    /// Rows and columns, filled up to whole bands and strips.
    pub(super) sides: [usize; 2],
    /// Matrices, filled up to whole blocks.
    pub(super) matrices: usize,
}

/// Where the blocks of a pass are, in numbers: in the matrices, and in their transposes.
pub(super) struct Steps {
    pub(super) start: [usize; 2],
    pub(super) next: [usize; 2],
    pub(super) blocks: usize,
}

impl Cut {
    fn new(
        count: usize,
        [rows, columns]: [usize; 2],
        band: usize,
        strip: usize,
        each: usize,
    ) -> Self {
        Self {
            band,
            strip,
            each,
            sides: [rows.next_multiple_of(band), columns.next_multiple_of(strip)],
            matrices: count.next_multiple_of(each),
        }
    }

    /// The one of the least time.
    pub(super) fn best(count: usize, [rows, columns]: [usize; 2], machine: &Machine) -> Self {
        // What is moved alone are whole granules, and pairs of numbers: quads of registers.
        let granule = usize::try_from(machine.dma.granule.0 / COMPLEX).unwrap_or(2);
        let unit = granule.max(2);
        let new = |band, strip, each| Self::new(count, [rows, columns], band, strip, each);
        // Two pages in and out, and as much again as a block for arguments.
        let fits = |cut: &Self| {
            let numbers = cut.band as u64 * cut.strip as u64 * cut.each as u64;
            5 * numbers * COMPLEX <= machine.cp2.dmem.0 || numbers <= (unit * unit) as u64
        };
        let side = |side: usize| {
            let units = (unit..=MOST.min(side + unit - 1)).step_by(unit);
            units.chain((side < 4 * MOST).then_some(side))
        };
        let divided = side(rows).flat_map(|band| side(columns).map(move |strip| (band, strip)));
        let divided = divided.map(|(band, strip)| new(band, strip, 1));
        // Of sides that are not filled up, what is moved are all rows or all columns.
        let moved = |cut: &Self| {
            let band = cut.band % unit == 0 || cut.bands() == 1 && cut.strip % unit == 0;
            let strip = cut.strip % unit == 0 || cut.strips() == 1 && cut.band % unit == 0;
            band && strip
        };
        let divided = divided.filter(moved);
        let one = rows.saturating_mul(columns);
        let several = (SEVERAL / COMPLEX as usize / one).max(unit);
        let whole = (1..=several).map(|each| new(rows, columns, each));
        let whole = whole.filter(|cut| one <= SEVERAL && one * cut.each % unit == 0);
        let all = divided.chain(whole).filter(fits);
        let least = all.min_by_key(|cut| cut.time(machine));
        least.unwrap_or_else(|| new(unit, unit, 1))
    }

    pub(super) fn bands(&self) -> usize {
        self.sides[0] / self.band
    }

    pub(super) fn strips(&self) -> usize {
        self.sides[1] / self.strip
    }

    /// Whether blocks are whole matrices.
    fn is_whole(&self) -> bool {
        self.bands() == 1 && self.strips() == 1
    }

    /// Numbers of a matrix.
    pub(super) fn numbers(&self) -> usize {
        self.sides[0] * self.sides[1]
    }

    /// Whether the blocks of a pass are those of one place of all matrices; else they follow
    /// one another along a matrix: the longer the pass, the less its first load and last store weigh.
    fn through_matrices(&self) -> bool {
        self.matrices / self.each > self.bands().max(self.strips())
    }

    pub(super) fn passes(&self) -> usize {
        let (bands, strips) = (self.bands(), self.strips());
        if self.is_whole() {
            1
        } else if self.through_matrices() {
            bands * strips
        } else {
            self.matrices * bands.min(strips)
        }
    }

    pub(super) fn steps(&self, pass: usize) -> Steps {
        let [rows, columns] = self.sides;
        let (bands, strips) = (self.bands(), self.strips());
        // Numbers from a band to the next and from a strip to the next.
        let (down, across) = (
            [self.band * columns, self.band],
            [self.strip, self.strip * rows],
        );
        let one = [self.numbers() * self.each; 2];
        let at = |band: usize, strip: usize, matrix: usize| {
            [0, 1].map(|i| band * down[i] + strip * across[i] + matrix * one[i])
        };
        let (start, next, blocks) = if self.is_whole() || self.through_matrices() {
            let blocks = self.matrices / self.each;
            (at(pass / strips, pass % strips, 0), one, blocks)
        } else if strips > bands {
            (at(pass % bands, 0, pass / bands), across, strips)
        } else {
            (at(0, pass % strips, pass / strips), down, bands)
        };
        Steps {
            start,
            next,
            blocks,
        }
    }

    /// All bytes and runs go over the channel; what stands alone at both ends of a pass, does
    /// so for each.
    fn time(&self, machine: &Machine) -> u128 {
        let (dma, host) = (&machine.dma, &machine.host);
        let ends = host.launch.0 + 2 * (host.completion.0 + host.descriptor.0 + dma.setup_idle.0);
        let sections = machine.cp2.sections as u128;
        let [bands, strips, band, strip, matrices, each, passes] = [
            self.bands(),
            self.strips(),
            self.band,
            self.strip,
            self.matrices,
            self.each,
            self.passes(),
        ]
        .map(|n| n as u128);
        let blocks = (bands * strips).saturating_mul(matrices / each);
        let numbers = blocks.saturating_mul(band * strip * each);
        let bytes = numbers.saturating_mul(2 * u128::from(COMPLEX));
        let (bytes_of, cycles) = (dma.bandwidth.num.max(1), dma.bandwidth.den);
        let moved = bytes.saturating_mul(cycles.into()) / u128::from(bytes_of);
        let runs = |whole: bool, each| {
            if whole {
                passes
            } else {
                blocks.saturating_mul(each)
            }
        };
        let runs = runs(strips == 1, band).saturating_add(runs(bands == 1, strip));
        let runs = runs.saturating_mul(dma.run.0.into());
        let block = u128::from(made::cycles(self));
        let computed = blocks.div_ceil(sections).saturating_mul(block);
        // Without two whole rounds there is too little to move while a block is computed.
        let alone = if blocks / passes < 2 * sections {
            block
        } else {
            0
        };
        let busy = moved.saturating_add(runs).max(computed);
        busy.saturating_add(passes.saturating_mul(u128::from(ends) + alone))
    }
}
