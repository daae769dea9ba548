//! Batches of generated FFTs in DMEM, paged through their kernel.

use super::block_kernels::{BlockKernels, GeneratedKernel};
use super::page_kernels::{columns, mixed};
use super::recipe::MixedRecipe;
use super::stockham_pass::LaneAssignment;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::fft_trait::Fft;
use crate::job::Job;
use cp2_asm::Program;
use cp2_machine::{Class, Cycles, Machine};
use std::fmt;
use std::sync::Arc;

/// Bytes of a complex number.
pub(super) const COMPLEX: u64 = 8;

/// Recipe of a transform that is computed in blocks of 2V transforms.
pub trait BlockRecipe: fmt::Debug + fmt::Display + Send + Sync {
    /// Returns the length of the transform.
    fn len(&self) -> usize;

    /// Returns false: a transform has at least one number.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the direction of the transform.
    fn direction(&self) -> TransformDirection;

    /// Returns the least arithmetic issues of one transform by this recipe.
    fn issues(&self) -> u64;
}

/// A planned transform that fits local memory.
///
/// A block is 2V transforms. The two halves of a quad are numbers of a pair of transforms, so that any
/// length, odd ones too, keeps all lanes busy; a batch is filled up to whole blocks with transforms of zeros.
/// Or a block is one transform, and the halves of a quad are two of its columns.
#[derive(Debug)]
pub struct BlockFft<R> {
    recipe: Arc<R>,
    blocks: BlockKernels,
}

/// A planned transform of mixed radix.
pub type MixedFft = BlockFft<MixedRecipe>;

impl<R: BlockRecipe + 'static> BlockFft<R> {
    /// Plans a transform. `longest` is the complex numbers of the longest array in local memory; `make`
    /// writes the kernel for a number of pairs.
    pub(super) fn build(
        recipe: R,
        machine: Arc<Machine>,
        longest: usize,
        make: impl Fn(&R, usize) -> Result<GeneratedKernel, FftError> + Send + Sync + 'static,
    ) -> Result<Self, FftError> {
        check_room(longest as u64 * COMPLEX, &recipe, &machine)?;
        let bytes = recipe.len() as u64 * COMPLEX;
        let recipe = Arc::new(recipe);
        let own = recipe.clone();
        let make = move |pairs| make(&own, pairs);
        let blocks = BlockKernels::new(recipe.to_string(), machine, (bytes, bytes), make)?;
        Ok(Self { recipe, blocks })
    }

    /// Returns the recipe.
    #[must_use]
    pub fn block_recipe(&self) -> &R {
        &self.recipe
    }
}

impl MixedFft {
    pub(in crate::fft) fn new(
        recipe: MixedRecipe,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let (n, direction) = (recipe.len(), recipe.direction());
        if recipe.lanes() == LaneAssignment::Transforms {
            return Self::build(recipe, machine.clone(), n, move |recipe, pairs| {
                mixed(n, recipe.radices(), direction, pairs, &machine)
            });
        }
        let bytes = n as u64 * COMPLEX;
        check_room(bytes / 2, &recipe, &machine)?;
        let made = columns(n, recipe.radices(), direction, &machine)?;
        let blocks = BlockKernels::single(recipe.to_string(), machine, (bytes, bytes), made)?;
        let recipe = Arc::new(recipe);
        Ok(Self { recipe, blocks })
    }
}

/// Refuses a transform that cannot fit: two buffers of two transforms of `bytes` each.
pub(super) fn check_room(
    bytes: u64,
    transform: &dyn fmt::Display,
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

impl<R: BlockRecipe> Fft for BlockFft<R> {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> TransformDirection {
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

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        vec![self.blocks.operations(batch)]
    }

    fn arrays(&self, batch: usize) -> Result<[usize; 2], FftError> {
        Ok([self.blocks.padded(batch)?, self.len()])
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        self.blocks.append(job, batch, (from, to))
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        self.blocks.estimate(batch)
    }
}
