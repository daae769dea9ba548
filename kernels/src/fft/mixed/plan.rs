//! Batches of transforms of mixed radix, paged through their kernel.

use super::blocks::Blocks;
use super::program::mixed;
use super::recipe::MixedRecipe;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::plan::{FftRun, batch_of};
use crate::fft::transform::{Fft, Rows};
use crate::job::{Job, Least};
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// A planned transform of mixed radix.
///
/// A block is 2V transforms: pairs are the two halves of a quad, so that any
/// length, odd ones too, keeps all lanes busy. A batch is filled up with
/// transforms of zeros to whole blocks.
#[derive(Debug)]
pub struct MixedFft {
    recipe: MixedRecipe,
    blocks: Blocks,
}

impl MixedFft {
    pub(in crate::fft) fn new(
        recipe: MixedRecipe,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let bytes = recipe.len() as u64 * COMPLEX;
        check_room(bytes, &recipe, &machine)?;
        let blocks = Blocks::new(
            recipe.to_string(),
            machine.clone(),
            (bytes, bytes),
            |pairs| {
                let (radices, direction) = (recipe.radices(), recipe.direction());
                mixed(recipe.len(), radices, direction, pairs, &machine)
            },
        )?;
        Ok(Self { recipe, blocks })
    }

    /// What any program must compute and move for `batch` transforms by these radices.
    pub(super) fn least(&self, batch: usize) -> Least {
        let batch = batch as u128;
        Least {
            issues: batch * u128::from(self.recipe.issues()),
            bytes: batch * u128::from(2 * self.recipe.len() as u64 * COMPLEX),
            ..Least::default()
        }
    }

    /// The job that transforms `input`, a whole number of transforms.
    pub(super) fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        self.blocks.job(
            input,
            batch,
            (self.recipe.len(), self.recipe.len()),
            options,
        )
    }

    /// The batch that `found` numbers make.
    pub(super) fn batch_of(&self, found: usize) -> Result<usize, FftError> {
        batch_of(found, self.recipe.len(), self.max_batch(), self.machine())
    }
}

/// Refuses at once what cannot fit: two buffers of two transforms of `bytes`.
pub(super) fn check_room(
    bytes: u64,
    transform: &dyn std::fmt::Display,
    machine: &Machine,
) -> Result<(), FftError> {
    if 4 * bytes > machine.cp2.dmem.0 {
        return Err(FftError::NoRoom {
            transform: transform.to_string(),
            machine: machine.name.clone(),
        });
    }
    Ok(())
}

impl Fft for MixedFft {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> Direction {
        self.recipe.direction()
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn machine(&self) -> &Arc<Machine> {
        self.blocks.machine()
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        self.blocks.program(batch).map(Some)
    }

    fn source(&self, file: &str) -> Option<String> {
        self.blocks.source(file)
    }

    fn max_batch(&self) -> usize {
        self.blocks.max_batch()
    }

    fn bound(&self, batch: usize) -> Cycles {
        self.least(batch).cycles(self.machine())
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        self.blocks.expected(batch)
    }

    fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError> {
        self.batch_of(input.len())?;
        let row = self.len();
        let rows = Rows {
            input: row,
            output: row,
        };
        self.process_rows(input, rows, options)
    }

    fn process_rows(
        &self,
        input: &[Complex32],
        rows: Rows,
        options: Options,
    ) -> Result<FftRun, FftError> {
        let longest = rows.input.max(rows.output);
        let most = self.max_batch() / longest.div_ceil(self.len()).max(1);
        let batch = rows.batch_of(input.len(), self.len(), most, self.machine())?;
        let (least, apart) = (self.least(batch), (rows.input, rows.output));
        self.blocks.run(input, batch, apart, least, options)
    }
}
