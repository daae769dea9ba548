//! Reductions of rows: parts of a row in workgroups, then the parts.

use super::REDUCE;
use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use cp2_problems::vector::{ReduceProblem, ReductionOp};
use cp2_problems::{NamedArrays, Problem};
use num_complex::Complex32;
use std::sync::Arc;

/// Most terms of a part.
const EACH: usize = 8192;

/// The steps of reductions, and where their results are.
#[derive(Debug)]
pub(crate) struct RowReduction {
    pub(crate) steps: Vec<Dispatch>,
    pub(crate) values: GpuBuffer<Complex32>,
    pub(crate) places: GpuBuffer<u32>,
}

impl RowReduction {
    /// Makes the reductions of rows of `terms` floats, or complex numbers.
    fn new(
        device: &Arc<GpuDevice>,
        op: ReductionOp,
        [terms, rows]: [usize; 2],
        [x, y]: [&GpuBuffer<f32>; 2],
    ) -> Result<Self, GpuError> {
        let number = match op {
            ReductionOp::Sum => 0.0,
            ReductionOp::Dot => 1.0,
            ReductionOp::ComplexDot => 2.0,
            ReductionOp::Norm => 3.0,
            ReductionOp::Max => 4.0,
        };
        let parts = terms.div_ceil(EACH);
        let buffers = |count| {
            let values: GpuBuffer<Complex32> = GpuBuffer::new(device, "the sums", count)?;
            let places: GpuBuffer<u32> = GpuBuffer::new(device, "the places", count)?;
            Ok::<_, GpuError>((values, places))
        };
        let constants = |[terms, parts]: [usize; 2], last: bool| {
            let root = op == ReductionOp::Norm && parts == 1;
            [
                ("OPERATION", number),
                ("LAST", f64::from(u8::from(last))),
                ("TERMS", terms as f64),
                ("EACH", terms.div_ceil(parts) as f64),
                ("PARTS", parts as f64),
                ("ROWS", rows as f64),
                ("ROOT", f64::from(u8::from(root))),
            ]
        };
        let (nothing, no_place) = buffers(0)?;
        let (mut values, mut places) = buffers(rows * parts)?;
        let arrays = [
            read(x),
            read(y),
            read(&nothing),
            read(&no_place),
            write(&values),
            write(&places),
        ];
        let first = constants([terms, parts], false);
        let mut steps = vec![device.step(&REDUCE, &first, &arrays, rows * parts)?];
        if parts > 1 {
            let (all, all_places) = buffers(rows)?;
            let arrays = [
                read(x),
                read(y),
                read(&values),
                read(&places),
                write(&all),
                write(&all_places),
            ];
            let last = constants([parts, 1], true);
            steps.push(device.step(&REDUCE, &last, &arrays, rows)?);
            (values, places) = (all, all_places);
        }
        Ok(Self {
            steps,
            values,
            places,
        })
    }
}

/// Prepares a reduction of rows.
pub(crate) fn reduce(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<ReduceProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: ReduceProblem) -> Result<GpuProblem, GpuError> {
    let (op, n, rows) = (problem.op(), problem.row(), problem.rows());
    let inputs = op.inputs();
    let x: GpuBuffer<f32> = GpuBuffer::new(device, "the rows", n * rows)?;
    let second = if inputs == 2 { n * rows } else { 0 };
    let y: GpuBuffer<f32> = GpuBuffer::new(device, "the second rows", second)?;
    let terms = if op == ReductionOp::ComplexDot {
        n / 2
    } else {
        n
    };
    let reduction = RowReduction::new(device, op, [terms, rows], [&x, &y])?;
    let recipe = format!("{} steps over {terms} terms", reduction.steps.len());
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", n * rows)?)?;
        if inputs == 2 {
            y.write(input.get_sized("y", n * rows)?)?;
        }
        session.execute(&reduction.steps)?;
        let sums = session.read(&reduction.values)?;
        let real = || sums.iter().map(|z| z.re).collect::<Vec<f32>>();
        Ok(match op {
            ReductionOp::ComplexDot => wrap_output(&problem, sums),
            ReductionOp::Max => {
                let places: Vec<u32> = session.read(&reduction.places)?;
                NamedArrays::from_array("value", &[rows], real()).add_array(
                    "place",
                    &[rows],
                    places,
                )
            }
            _ => wrap_output(&problem, real()),
        })
    }))
}

/// The inner product of two arrays: sums of parts, which are added up in double precision.
#[derive(Debug)]
pub(crate) struct PartialSums {
    step: Dispatch,
    sums: GpuBuffer<Complex32>,
}

/// Terms of a part; more parts than are worth a workgroup each would only be more to read back.
const FEW: usize = 4096;

impl PartialSums {
    /// Makes the inner product of two arrays of one length, which may be one array.
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        x: &GpuBuffer<f32>,
        y: &GpuBuffer<f32>,
    ) -> Result<Self, GpuError> {
        let terms = x.len().min(y.len());
        let parts = terms.div_ceil(FEW).clamp(1, 1024);
        let sums: GpuBuffer<Complex32> = GpuBuffer::new(device, "the sums of parts", parts)?;
        let places: GpuBuffer<u32> = GpuBuffer::new(device, "the places of parts", parts)?;
        let nothing: GpuBuffer<Complex32> = GpuBuffer::new(device, "no parts", 0)?;
        let no_place: GpuBuffer<u32> = GpuBuffer::new(device, "no places", 0)?;
        let constants = [
            ("OPERATION", 1.0),
            ("TERMS", terms as f64),
            ("EACH", terms.div_ceil(parts) as f64),
            ("PARTS", parts as f64),
        ];
        let arrays = [
            read(x),
            read(y),
            read(&nothing),
            read(&no_place),
            write(&sums),
            write(&places),
        ];
        let step = device.step(&REDUCE, &constants, &arrays, parts)?;
        Ok(Self { step, sums })
    }

    /// Returns the step that computes the sums of parts.
    pub(crate) fn step(&self) -> &Dispatch {
        &self.step
    }

    /// Returns the sums of parts, whose real parts are to be added up.
    pub(crate) fn parts(&self) -> &GpuBuffer<Complex32> {
        &self.sums
    }
}
