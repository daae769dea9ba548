//! FFT of a 3-D field and its inverse, with weights (NPB FT).
//!
//! The forward transform is the planner's. The inverse has three passes, of which the first, along the
//! slowest axis, multiplies by the weights.

use super::axis_pass::{AxisPass, rings};
use super::column_and_row_pages::ColumnPages;
use super::line_batch::{COMPLEX, LineBatch};
use super::nd::FftNd;
use super::recipe::MIN_RUN_BYTES;
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoShape};
use crate::fft::fft_trait::Fft as _;
use crate::fft::power_of_two::LocalFft;
use crate::fft::power_of_two_recipe::PowerOfTwoRecipe;
use crate::fft::program::weighed_program;
use crate::job::{Job, data_end};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, Ring, RingPages, RingPass, deals_quads};
use cp2_machine::{Class, Machine};
use std::sync::Arc;

/// Columns of a section's page that the kernel has registers for.
const PAGE_COLUMNS: [usize; 4] = [2, 4, 8, 16];
/// Greatest number of columns of a section's page where a loop before the first pass multiplies.
const MOST_COLUMNS_WEIGHTED_BEFORE: usize = 8;

/// Least weight along the first axis for which the first pass can multiply by quotients of weights. Their
/// reciprocals, and products of two, stay inside single precision.
const MIN_QUOTIENT_WEIGHT: f64 = 1e-18;

/// The weights of a field in system memory: number (z, y, x) is multiplied by `wz[z] wy[y] wx[x]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldWeights {
    /// Table of the weights along z as the kernel reads it: see `weighted_columns.s`.
    z: Buffer<f32>,
    /// Weights along y, each four times.
    y: Buffer<f32>,
    /// Weights along x, each twice.
    x: Buffer<f32>,
}

/// Makes the table of weights along z: each weight four times or, for the `first` pass, a record for each
/// four rows a quarter of the axis apart, with one weight and quotients of the others.
fn table(weights: &[f64], first: bool) -> Vec<f32> {
    if !first {
        let each = weights.iter().flat_map(|&weight| [weight as f32; 4]);
        return each.collect();
    }
    let quarter = weights.len() / 4;
    let at = |row: usize, part: usize| weights.get(row + part * quarter).copied().unwrap_or(0.0);
    let record = |row: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| at(row, part));
        let quotients = [c / a, d / b, b / a, 0.0].map(|quotient| [quotient as f32, 0.0]);
        [[a as f32; 2]; 2].into_iter().chain(quotients).flatten()
    };
    (0..quarter).flat_map(record).collect()
}

/// Transforms of a field of three axes, the last contiguous: forward, and inverse with weights.
#[derive(Debug)]
pub(crate) struct FieldFft {
    shape: [usize; 3],
    forward: FftNd,
    weighed: WeightedAxisPass,
    /// Inverse pass along y.
    y: AxisPass,
    /// Inverse pass along x.
    x: LocalFft,
}

impl FieldFft {
    /// Plans the transforms of fields of a shape (z, y, x), whose weights along z are positive and at least
    /// `least`.
    ///
    /// # Errors
    /// An axis without a kernel, or a field too narrow for the machine's sections.
    pub(crate) fn new(
        shape: [usize; 3],
        least: f64,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = || FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
            cause: NoShape::explain_field(machine),
        };
        let [planes, rows, columns] = shape;
        let forward = FftNd::new(&shape, TransformDirection::Forward, machine.clone());
        let forward = forward.map_err(|error| match error {
            FftError::Shape { .. } => refused(),
            other => other,
        })?;
        let around = (planes as u64, columns as u64);
        let y = AxisPass::new(rows, around, TransformDirection::Inverse, machine)?;
        let x = PowerOfTwoRecipe::new(columns, TransformDirection::Inverse)?;
        Ok(Self {
            shape,
            forward: forward.plans(1)?.into_iter().next().unwrap_or(forward),
            weighed: WeightedAxisPass::new(shape, least, machine)?.ok_or_else(refused)?,
            y: y.ok_or_else(refused)?,
            x: LocalFft::new(x, machine.clone())?,
        })
    }

    /// Describes the passes in words.
    pub(crate) fn recipe(&self) -> String {
        let [planes, rows, _] = self.shape;
        format!(
            "{}; back columns of {planes}, {} a section and page, with weights {}, columns of {rows}, {} a section and page, x by {}",
            self.forward.recipe(),
            self.weighed.lines.per_section(),
            match self.weighed.first {
                true => "in the first of their passes",
                false => "before the first of their passes",
            },
            self.y.lines().per_section(),
            self.x.recipe(),
        )
    }

    /// Returns the operations of the forward transform of a field, pass by pass.
    pub(crate) fn forward_operations(&self) -> Vec<Vec<(Class, u64)>> {
        self.forward.operations(1)
    }

    /// Returns the operations of the weighted inverse transform, pass by pass.
    pub(crate) fn back_operations(&self) -> Vec<Vec<(Class, u64)>> {
        let numbers = self.shape.iter().product::<usize>() as u64;
        let butterflies =
            |length: usize| (Class::Butterfly, numbers / 2 * u64::from(length.ilog2()));
        let [z, y, x] = self.shape.map(butterflies);
        let products = (Class::Add, self.weighed.products(numbers));
        vec![vec![z, products], vec![y], vec![x]]
    }

    /// Puts the weights along the axes z, y and x into system memory for a job's passes.
    pub(crate) fn weights(
        &self,
        job: &mut Job,
        [z, y, x]: &[Vec<f64>; 3],
    ) -> Result<FieldWeights, FftError> {
        let repeated = |weights: &[f64], times: usize| {
            let all = weights
                .iter()
                .flat_map(|&weight| vec![weight as f32; times]);
            all.collect::<Vec<f32>>()
        };
        Ok(FieldWeights {
            z: job.table(&table(z, self.weighed.first))?,
            y: job.table(&repeated(y, 4))?,
            x: job.table(&repeated(x, 2))?,
        })
    }

    /// Adds the forward transform from the first of `arrays` to the second to a job. The intermediate array,
    /// of the same size, may be at `between`.
    pub(crate) fn forward(
        &self,
        job: &mut Job,
        arrays: [u64; 2],
        between: u64,
    ) -> Result<(), FftError> {
        self.forward.append_with(job, 1, arrays, Some(between))
    }

    /// Adds the inverse transform of the numbers at `from`, multiplied by the weights, to a job.
    pub(crate) fn add_inverse(
        &self,
        job: &mut Job,
        weights: &FieldWeights,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let program = job.program(&self.weighed.name(), &self.weighed.program)?;
        let tables = [weights.y.address(), weights.x.address()];
        job.ring(&program, "columns", self.weighed.pass([from, to], tables))?;
        job.fill("weights1", weights.z)?;
        self.y.add(job, 1, [to; 2])?;
        let [planes, rows, _] = self.shape;
        self.x.pass(job, planes * rows, to, to)
    }
}

/// The inverse pass along z: columns that are multiplied by weights before they are transformed.
#[derive(Debug)]
struct WeightedAxisPass {
    /// Lengths of the axes z, y, x.
    shape: [u64; 3],
    sections: u64,
    lines: LineBatch,
    ring: Ring,
    program: Arc<Program>,
    /// True if the first pass multiplies, false if a loop before it does.
    first: bool,
}

impl WeightedAxisPass {
    /// Plans the fastest pass; none if nothing fits.
    fn new(shape: [usize; 3], least: f64, machine: &Machine) -> Result<Option<Self>, FftError> {
        let [length, _, columns] = shape;
        let sections = machine.cp2.sections as u64;
        let dmem = machine.cp2.dmem.0;
        let mut found = Vec::new();
        let lines = PAGE_COLUMNS
            .into_iter()
            .filter_map(|per| LineBatch::new(length, per));
        for (lines, first) in lines.flat_map(|lines| [(lines.clone(), true), (lines, false)]) {
            // The loop of the first pass takes two pairs of columns at a time.
            let has = match first {
                true => {
                    lines.radix(0) == 4 && lines.per_section() >= 4 && least >= MIN_QUOTIENT_WEIGHT
                }
                false => lines.per_section() <= MOST_COLUMNS_WEIGHTED_BEFORE,
            };
            if !has {
                continue;
            }
            // A page has columns of one y.
            let fits = (columns as u64).is_multiple_of(lines.per_section() as u64 * sections);
            if !fits || !deals_quads(machine) || 3 * lines.page_bytes() > dmem {
                continue;
            }
            let program = match weighed_program(&lines, first, TransformDirection::Inverse, machine)
            {
                Ok(assembly) => Arc::new(assembly.program),
                // Smaller pages may fit.
                Err(FftError::Unfit(e)) if e.is_size() => continue,
                Err(e) => return Err(e),
            };
            let end = data_end(&program).next_multiple_of(QUAD);
            for ring in rings(&lines, weight_bytes(&lines), end, dmem) {
                let axis = Self {
                    shape: shape.map(|n| n as u64),
                    sections,
                    lines: lines.clone(),
                    ring,
                    program: program.clone(),
                    first,
                };
                let pass = axis.pass([0; 2], [0; 2]);
                if moves(&axis.name(), &pass, machine).is_ok() {
                    found.push((pass.expect(machine).cycles, axis));
                }
            }
        }
        found.sort_by(|(a, one), (b, other)| {
            let short = |axis: &Self| axis.run() < MIN_RUN_BYTES;
            short(one).cmp(&short(other)).then(a.total_cmp(b))
        });
        Ok(found.into_iter().next().map(|(_, axis)| axis))
    }

    /// Returns the quad products for so many numbers: two for each quad, or five for each four quads in the
    /// first pass.
    fn products(&self, numbers: u64) -> u64 {
        match self.first {
            true => numbers / 8 * 5,
            false => numbers,
        }
    }

    /// Returns the bytes of a run in system memory.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections * COMPLEX
    }

    /// Returns the name of the pass on a timeline.
    fn name(&self) -> String {
        format!("columns of {} with weights", self.lines.len())
    }

    /// Describes the pass from one address to another, with the weights of y and x at `tables`.
    fn pass(&self, [from, to]: [u64; 2], tables: [u64; 2]) -> RingPass {
        let [_, rows, columns] = self.shape;
        let work = WeightedColumnPages {
            columns: ColumnPages {
                lines: self.lines.clone(),
                sections: self.sections,
                matrices: 1,
                width: rows * columns,
                from,
                to,
                tiled: None,
                factors: None,
            },
            row: columns,
            tables,
            products: self.products((self.lines.len() * self.lines.per_section()) as u64),
        };
        RingPass::new(self.ring.clone(), work).price_by_kernel(&self.program, "columns")
    }
}

/// Returns the bytes of the weights of a section's page: each column's weight twice, and that of its y four
/// times.
fn weight_bytes(lines: &LineBatch) -> u64 {
    lines.per_section() as u64 * COMPLEX + QUAD
}

/// Pages of columns, each with the weights of its columns and of its row y.
#[derive(Debug)]
struct WeightedColumnPages {
    columns: ColumnPages,
    /// Numbers of a row y.
    row: u64,
    /// Addresses of the weights of y and of x.
    tables: [u64; 2],
    /// Products of quads of a section's page.
    products: u64,
}

impl RingPages for WeightedColumnPages {
    fn count(&self) -> u64 {
        self.columns.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let own = self.columns.lines.per_section() as u64 * COMPLEX;
        let columns = own / COMPLEX * self.columns.sections;
        let (y, x) = (page * columns / self.row, page * columns % self.row);
        let [ys, xs] = self.tables;
        let bytes = columns * COMPLEX;
        // The weights are dealt to the sections as the numbers are.
        let along_x = Descriptor::load(Target::Deal, xs + x * COMPLEX, factors, bytes);
        let behind = factors.saturating_add(u32::try_from(own).unwrap_or(u32::MAX));
        let along_y = Descriptor::load(Target::Broadcast, ys + y * QUAD, behind, QUAD);
        let data = self.columns.loads(page, local, factors);
        [along_x, along_y].into_iter().chain(data).collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        self.columns.stores(page, local)
    }

    fn dmem_bytes(&self, page: u64) -> Option<[u64; 3]> {
        let [numbers, _, beside] = self.columns.dmem_bytes(page)?;
        Some([numbers, weight_bytes(&self.columns.lines), beside])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        self.columns.arithmetic_cycles(page) + self.products
    }
}
