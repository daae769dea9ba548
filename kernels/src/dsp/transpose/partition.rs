//! Divides matrices into blocks and passes, in the least time of a machine.

use super::{COMPLEX, page_kernels};
use cp2_machine::Machine;
use std::ops::Range;

/// Most rows of a band and most columns of a block, except for blocks of whole rows or columns.
const MOST: usize = 64;
/// Bytes of a block of several matrices.
const SEVERAL: usize = 4096;

/// A block: `band` rows and `strip` columns of a matrix, or several whole matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransposeBlock {
    pub(super) band: usize,
    pub(super) strip: usize,
    /// Number of matrices of a block.
    pub(super) each: usize,
}

impl TransposeBlock {
    /// Returns the number of numbers of a block.
    fn numbers(&self) -> usize {
        self.band * self.strip * self.each
    }
}

/// A division of matrices into blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixPartition {
    /// Size of a block; the last ones of a side are smaller where the side is no multiple of the block.
    pub(super) block: TransposeBlock,
    /// Rows and columns, padded to whole blocks, or to units that can be moved.
    pub(super) sides: [usize; 2],
    /// Number of matrices, padded to whole blocks.
    pub(super) matrices: usize,
}

/// Blocks of one size, and the places of a matrix where they are.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) block: TransposeBlock,
    bands: Range<usize>,
    strips: Range<usize>,
}

impl Kind {
    /// Returns the number of places.
    fn places(&self) -> usize {
        self.bands.len() * self.strips.len()
    }
}

/// The blocks of a pass. Distances are in numbers, each in the matrices and in their transposes.
pub(super) struct BlockSteps {
    pub(super) block: TransposeBlock,
    /// Distance of the first block from the beginning.
    pub(super) start: [usize; 2],
    /// Distance from a block to the next.
    pub(super) next: [usize; 2],
    pub(super) blocks: usize,
}

impl MatrixPartition {
    /// Divides matrices whose sides are padded to multiples of `units`.
    fn new(
        count: usize,
        [rows, columns]: [usize; 2],
        block: TransposeBlock,
        units: [usize; 2],
    ) -> Self {
        Self {
            block,
            sides: [
                rows.next_multiple_of(units[0]),
                columns.next_multiple_of(units[1]),
            ],
            matrices: count.next_multiple_of(block.each),
        }
    }

    /// Returns the division that takes the least time.
    pub(super) fn best(count: usize, [rows, columns]: [usize; 2], machine: &Machine) -> Self {
        // Alone are moved whole granules, and pairs of numbers, which are quads of registers.
        let granule = usize::try_from(machine.dma.granule.0 / COMPLEX).unwrap_or(2);
        let unit = granule.max(2);
        let filled = |band, strip, each| {
            let block = TransposeBlock { band, strip, each };
            Self::new(count, [rows, columns], block, [band, strip])
        };
        // Two pages in and out, and as much again as a block for arguments, must fit DMEM.
        let fits = |cut: &Self| {
            let numbers = cut.block.numbers() as u64;
            5 * numbers * COMPLEX <= machine.cp2.dmem.0 || numbers <= (unit * unit) as u64
        };
        let side = |side: usize| {
            let units = (unit..=MOST.min(side + unit - 1)).step_by(unit);
            units.chain((side < 4 * MOST).then_some(side))
        };
        let divided = side(rows).flat_map(|band| side(columns).map(move |strip| (band, strip)));
        // Blocks are equal, or the last ones are smaller; a whole side keeps its length.
        let divided = divided.flat_map(|(band, strip)| {
            let units = [(band, rows), (strip, columns)];
            let units = units.map(|(block, side)| if block == side { block } else { unit });
            let block = TransposeBlock {
                band,
                strip,
                each: 1,
            };
            let uneven = Self::new(count, [rows, columns], block, units);
            let uneven = Some(uneven).filter(Self::is_uneven);
            std::iter::once(filled(band, strip, 1)).chain(uneven)
        });
        // Sides that are not padded are moved only if the pass moves all rows or all columns.
        let moved = |cut: &Self| {
            let TransposeBlock { band, strip, .. } = cut.block;
            let rows = band % unit == 0 || cut.bands() == 1 && strip % unit == 0;
            let columns = strip % unit == 0 || cut.strips() == 1 && band % unit == 0;
            rows && columns
        };
        let divided = divided.filter(moved);
        let one = rows.saturating_mul(columns);
        let several = (SEVERAL / COMPLEX as usize / one).max(unit);
        let whole = (1..=several).map(|each| filled(rows, columns, each));
        let whole = whole.filter(|cut| one <= SEVERAL && one * cut.block.each % unit == 0);
        let all = divided.chain(whole).filter(fits);
        let least = all.min_by_key(|cut| cut.time(machine));
        least.unwrap_or_else(|| filled(unit, unit, 1))
    }

    /// Returns the number of bands of rows.
    pub(super) fn bands(&self) -> usize {
        self.sides[0].div_ceil(self.block.band)
    }

    /// Returns the number of strips of columns.
    pub(super) fn strips(&self) -> usize {
        self.sides[1].div_ceil(self.block.strip)
    }

    /// Returns true if the last blocks of a side are smaller.
    fn is_uneven(&self) -> bool {
        !self.sides[0].is_multiple_of(self.block.band)
            || !self.sides[1].is_multiple_of(self.block.strip)
    }

    /// Returns the sizes of blocks, in the order of the passes.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let TransposeBlock { band, strip, each } = self.block;
        // The places of whole blocks, then that of the rest of the side.
        let parts = |side: usize, block: usize| {
            let (whole, rest) = (side / block, side % block);
            [(block, 0..whole), (rest, whole..whole + 1)].into_iter()
        };
        let bands = parts(self.sides[0], band);
        let all = bands.flat_map(|(band, bands)| {
            parts(self.sides[1], strip).map(move |(strip, strips)| Kind {
                block: TransposeBlock { band, strip, each },
                bands: bands.clone(),
                strips,
            })
        });
        all.filter(|kind| kind.block.numbers() > 0).collect()
    }

    /// Returns true if blocks are whole matrices.
    fn is_whole(&self) -> bool {
        self.bands() == 1 && self.strips() == 1
    }

    /// Returns the number of numbers of a matrix.
    pub(super) fn numbers(&self) -> usize {
        self.sides[0] * self.sides[1]
    }

    /// Returns true if the blocks of a pass are at one place of all matrices.
    ///
    /// Otherwise they follow one another along a matrix. Longer passes are better, since they have fewer
    /// first loads and last stores.
    fn crosses_matrices(&self) -> bool {
        self.is_uneven() || self.matrices / self.block.each > self.bands().max(self.strips())
    }

    /// Returns the number of passes.
    pub(super) fn passes(&self) -> usize {
        let (bands, strips) = (self.bands(), self.strips());
        if self.is_whole() {
            1
        } else if self.crosses_matrices() {
            bands * strips
        } else {
            self.matrices * bands.min(strips)
        }
    }

    /// Returns the size of the blocks of a pass through matrices, and their place in each matrix.
    fn place(&self, mut pass: usize) -> (TransposeBlock, [usize; 2]) {
        for kind in self.kinds() {
            if let Some(strip) = kind.strips.clone().nth(pass % kind.strips.len().max(1))
                && let Some(band) = kind.bands.clone().nth(pass / kind.strips.len())
            {
                return (kind.block, [band, strip]);
            }
            pass -= kind.places().min(pass);
        }
        (self.block, [0, 0])
    }

    /// Returns the blocks of a pass.
    pub(super) fn steps(&self, pass: usize) -> BlockSteps {
        let [rows, columns] = self.sides;
        let (bands, strips) = (self.bands(), self.strips());
        // Distances from a band to the next and from a strip to the next.
        let (down, across) = (
            [self.block.band * columns, self.block.band],
            [self.block.strip, self.block.strip * rows],
        );
        let one = [self.numbers() * self.block.each; 2];
        let at = |band: usize, strip: usize, matrix: usize| {
            [0, 1].map(|i| band * down[i] + strip * across[i] + matrix * one[i])
        };
        if self.is_whole() || self.crosses_matrices() {
            let (block, [band, strip]) = self.place(pass);
            return BlockSteps {
                block,
                start: at(band, strip, 0),
                next: one,
                blocks: self.matrices / self.block.each,
            };
        }
        let (start, next, blocks) = if strips > bands {
            (at(pass % bands, 0, pass / bands), across, strips)
        } else {
            (at(0, pass % strips, pass / strips), down, bands)
        };
        BlockSteps {
            block: self.block,
            start,
            next,
            blocks,
        }
    }

    /// Estimates the cycles of all passes.
    ///
    /// `max(bytes / bandwidth + runs, arithmetic) + passes * ends`: bytes and runs go over the channel; the
    /// first load and the last store of each pass overlap nothing.
    fn time(&self, machine: &Machine) -> u128 {
        let (dma, host) = (&machine.dma, &machine.host);
        let ends = host.launch.0 + 2 * (host.completion.0 + host.descriptor.0 + dma.setup_idle.0);
        let sections = machine.cp2.sections as u128;
        let [bands, strips, rows, columns, matrices, passes] = [
            self.bands(),
            self.strips(),
            self.sides[0],
            self.sides[1],
            self.matrices,
            self.passes(),
        ]
        .map(|n| n as u128);
        let groups = matrices / self.block.each as u128;
        let numbers = (rows * columns).saturating_mul(matrices);
        let bytes = numbers.saturating_mul(2 * u128::from(COMPLEX));
        let (bytes_of, cycles) = (dma.bandwidth.num.max(1), dma.bandwidth.den);
        let moved = bytes.saturating_mul(cycles.into()) / u128::from(bytes_of);
        // Each row has a run for each strip, and each column one for each band, unless the side is whole.
        let runs = |side: u128, parts: u128| {
            if parts == 1 {
                passes
            } else {
                (side * parts).saturating_mul(groups)
            }
        };
        let runs = runs(rows, strips).saturating_add(runs(columns, bands));
        let runs = runs.saturating_mul(dma.run.0.into());
        let computed = self.kinds().iter().fold(0u128, |all, kind| {
            let blocks = groups.saturating_mul(kind.places() as u128);
            let each = u128::from(page_kernels::cycles(&kind.block));
            all.saturating_add(blocks.div_ceil(sections).saturating_mul(each))
        });
        let block = u128::from(page_kernels::cycles(&self.block));
        let blocks = (bands * strips).saturating_mul(groups);
        // With less than two whole rounds of blocks there is too little to move while a block is computed.
        let alone = if blocks / passes < 2 * sections {
            block
        } else {
            0
        };
        let busy = moved.saturating_add(runs).max(computed);
        busy.saturating_add(passes.saturating_mul(u128::from(ends) + alone))
    }
}
