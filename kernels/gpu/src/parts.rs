//! Problems of independent items, computed in parts that fit the adapter.

use crate::backend::GpuProblem;
use crate::device::GpuDevice;
use crate::error::GpuError;
use cp2_problems::conv::ConvProblem;
use cp2_problems::fft::{FftProblem, RealFftProblem};
use cp2_problems::vector::{
    BeamProblem, MapOp, MapProblem, ProductProblem, ReduceProblem, TransposeProblem,
};
use cp2_problems::{ArrayForm, DataError, Element, Kind, NamedArrays, Problem, ProblemError};
use num_complex::{Complex32, Complex64};
use std::ops::Range;
use std::sync::Arc;

/// Makes the same problem of another number of items.
type MakePartFn<'a> = dyn Fn(usize) -> Result<Box<dyn Problem>, ProblemError> + 'a;

/// A problem as items that do not influence each other. Every array of it has an equal number of elements for each
/// item, in the order of the items.
struct IndependentItems<'a> {
    count: usize,
    make: Box<MakePartFn<'a>>,
}

impl<'a> IndependentItems<'a> {
    fn new<P: Problem>(count: usize, make: impl Fn(usize) -> Result<P, ProblemError> + 'a) -> Self {
        let make = move |count| Ok(Box::new(make(count)?) as Box<dyn Problem>);
        Self {
            count,
            make: Box::new(make),
        }
    }

    /// Divides a problem into items; none if it does not consist of them.
    fn of(problem: &'a dyn Problem) -> Option<Self> {
        if let Some(p) = problem.downcast_ref::<FftProblem>() {
            let make = |batch| FftProblem::from_axes(p.axes(), p.direction(), batch);
            return Some(Self::new(p.batch(), make));
        }
        if let Some(p) = problem.downcast_ref::<RealFftProblem>() {
            let make = |batch| RealFftProblem::new(p.len(), p.direction(), batch);
            return Some(Self::new(p.batch(), make));
        }
        if let Some(p) = problem.downcast_ref::<ConvProblem>() {
            let make = |channels| {
                let outputs = (p.mode(), p.rate());
                let made = ConvProblem::new_at_rate(p.taps(), channels, p.samples(), outputs)?;
                match p.is_real() {
                    true => made.into_real(),
                    false => Ok(made),
                }
            };
            return Some(Self::new(p.channels(), make));
        }
        if let Some(p) = problem.downcast_ref::<MapProblem>() {
            let floats = match p.op() {
                MapOp::Window(window) => window.len(),
                MapOp::ComplexMultiply => 2,
                op => op.ratio(),
            };
            let make = move |count| MapProblem::new(p.op().clone(), floats * count);
            return Some(Self::new(p.len() / floats, make));
        }
        if let Some(p) = problem.downcast_ref::<ReduceProblem>() {
            let make = |rows| ReduceProblem::new(p.op(), p.row(), rows);
            return Some(Self::new(p.rows(), make));
        }
        if let Some(p) = problem.downcast_ref::<BeamProblem>() {
            let make = |snapshots| BeamProblem::new(p.weights(), p.vector(), snapshots);
            return Some(Self::new(p.snapshots(), make));
        }
        if let Some(p) = problem.downcast_ref::<ProductProblem>() {
            let make = |count| ProductProblem::new(p.sides(), count);
            return Some(Self::new(p.count(), make));
        }
        let p = problem.downcast_ref::<TransposeProblem>()?;
        let [count, rows, columns] = p.shape();
        let make = move |count| TransposeProblem::new(rows, columns, count);
        Some(Self::new(count, make))
    }
}

/// Prepares a problem whose arrays are too large for the adapter, in parts of equally many items: one preparation
/// serves them all, as the last part computes some items of the one before it again.
///
/// # Errors
/// The problem does not consist of items, or one item is too large: then the error is the one of an array that has no
/// room. Any other error of a preparation.
pub(crate) fn prepare(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
    mut no_room: GpuError,
    prepare: impl Fn(&dyn Problem) -> Option<Result<GpuProblem, GpuError>>,
) -> Result<GpuProblem, GpuError> {
    let Some(items) = IndependentItems::of(problem) else {
        return Err(no_room);
    };
    let mut each = items.count;
    while each > 1 {
        // Twice as many parts as before, as half of an array's items may leave no room for another array.
        each = each.div_ceil(2);
        let Ok(part) = (items.make)(each) else { break };
        match prepare(&*part) {
            Some(Ok(ready)) => {
                return Ok(compute_parts(
                    device,
                    problem,
                    &*part,
                    ready,
                    [items.count, each],
                ));
            }
            Some(Err(error @ GpuError::TooLarge { .. })) => no_room = error,
            Some(Err(error)) => return Err(error),
            None => break,
        }
    }
    Err(no_room)
}

/// Returns the problem of so many items as parts of `each` items.
fn compute_parts(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
    part: &dyn Problem,
    mut ready: GpuProblem,
    [count, each]: [usize; 2],
) -> GpuProblem {
    let [inputs, outputs] = [problem.inputs(), problem.outputs()];
    let part_inputs = part.inputs();
    let parts = count.div_ceil(each);
    let recipe = format!("{}; in {parts} parts", ready.recipe);
    GpuProblem::new(device, recipe, move |session, input| {
        check_lengths(&inputs, input)?;
        let mut done = Vec::with_capacity(parts);
        for begin in (0..count).step_by(each) {
            let end = count.min(begin + each);
            let piece = join(&part_inputs, &[(input, end - each..end)])?;
            let output = (ready.run)(session, &piece)?;
            done.push((output, begin + each - end..each));
        }
        let done: Vec<_> = done
            .iter()
            .map(|(output, new)| (output, new.clone()))
            .collect();
        Ok(join(&outputs, &done)?)
    })
}

/// Checks that whole arrays have the lengths of their forms.
fn check_lengths(forms: &[ArrayForm], arrays: &NamedArrays) -> Result<(), DataError> {
    for form in forms {
        let (found, expected) = (
            arrays.array(form.name)?.values.len(),
            form.shape.iter().product(),
        );
        if found != expected {
            return Err(DataError::Length {
                name: form.name,
                found,
                expected,
            });
        }
    }
    Ok(())
}

/// Arrays, and the items of them that are meant.
type ItemRange<'a> = (&'a NamedArrays, Range<usize>);

/// Joins items of several arrays to arrays of these forms.
fn join(forms: &[ArrayForm], pieces: &[ItemRange<'_>]) -> Result<NamedArrays, DataError> {
    let join = |all, form: &ArrayForm| match form.kind {
        Kind::F32 => join_array::<f32>(all, form, pieces),
        Kind::F64 => join_array::<f64>(all, form, pieces),
        Kind::Complex64 => join_array::<Complex32>(all, form, pieces),
        Kind::Complex128 => join_array::<Complex64>(all, form, pieces),
        Kind::DoubleSingle => join_array::<[f32; 2]>(all, form, pieces),
        Kind::ComplexDoubleSingle => join_array::<[[f32; 2]; 2]>(all, form, pieces),
        Kind::I32 => join_array::<i32>(all, form, pieces),
        Kind::U32 => join_array::<u32>(all, form, pieces),
        Kind::U8 => join_array::<u8>(all, form, pieces),
    };
    forms.iter().try_fold(NamedArrays::default(), join)
}

/// Adds an array of a form, joined of items of other arrays of its name.
fn join_array<T: Element>(
    all: NamedArrays,
    form: &ArrayForm,
    pieces: &[ItemRange<'_>],
) -> Result<NamedArrays, DataError> {
    let len: usize = form.shape.iter().product();
    let items: usize = pieces.iter().map(|(_, range)| range.len()).sum();
    let each = len / items.max(1);
    let mut joined: Vec<T> = Vec::with_capacity(len);
    for (arrays, range) in pieces {
        let values: &[T] = arrays.get(form.name)?;
        let found = values.get(range.start * each..range.end * each);
        joined.extend(found.ok_or(DataError::Length {
            name: form.name,
            found: values.len(),
            expected: range.end * each,
        })?);
    }
    Ok(all.add_array(form.name, &form.shape, joined))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::adapter::AdapterChoice;
    use crate::session::Session;
    use cp2_problems::{Case, MultiplyAdd};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Adds 10 numbers on a device that has room for 3 at a time and is lost in the run of a number. Returns the runs,
    /// and true if the output is right; none if there is no output.
    fn add(device: &Arc<GpuDevice>, lost_in: usize) -> (usize, Option<bool>) {
        let runs = Arc::new(AtomicUsize::new(0));
        let no_room = |len: usize| GpuError::TooLarge {
            what: "numbers",
            bytes: 4 * len as u64,
            most: 12,
        };
        let prepare = |part: &dyn Problem| {
            let part = part.downcast_ref::<MapProblem>()?.clone();
            if part.len() > 3 {
                return Some(Err(no_room(part.len())));
            }
            let runs = runs.clone();
            Some(Ok(GpuProblem::new(device, "a sum", move |_, input| {
                if runs.fetch_add(1, Ordering::Relaxed) + 1 == lost_in {
                    let reason = "unplugged".to_owned();
                    return Err(GpuError::Lost { reason }.into());
                }
                Ok(part.compute_in_order(input, MultiplyAdd::Fused).unwrap())
            })))
        };
        let problem = MapProblem::new(MapOp::Add, 10).unwrap();
        let mut ready = super::prepare(device, &problem, no_room(10), prepare).unwrap();
        assert_eq!(ready.recipe, "a sum; in 4 parts");
        let input = problem.input(Case::Random, 1);
        let output = (ready.run)(&mut Session::new(device).unwrap(), &input).ok();
        let right = problem.compute_in_order(&input, MultiplyAdd::Fused);
        (
            runs.load(Ordering::Relaxed),
            output.map(|output| Some(output) == right),
        )
    }

    /// A part that fails leaves no output, whatever those before it have computed, and none is computed behind it.
    #[test]
    fn outputs_are_whole_or_none() {
        let device = Arc::new(GpuDevice::open(&AdapterChoice::default()).unwrap());
        assert_eq!(add(&device, 0), (4, Some(true)));
        for part in 1..=4 {
            assert_eq!(add(&device, part), (part, None));
        }
    }
}
