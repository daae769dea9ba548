//! Stencils: any points, with coefficients of a point or of every element.

use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, Shader, ShaderArray, read, write};
use cp2_problems::Problem;
use cp2_problems::stencil::{Edge, StencilProblem};
use std::fmt::Write as _;
use std::sync::Arc;

/// A step; the sum over the points is generated.
pub(crate) const STEP: Shader = Shader {
    name: "stencil/step",
    parts: &[
        include_str!("stencil/edges.wgsl"),
        include_str!("stencil/step.wgsl"),
    ],
};

/// A step with a coefficient for each class of points.
pub(crate) const CLASSES: Shader = Shader {
    name: "stencil/classes",
    parts: &[
        include_str!("stencil/edges.wgsl"),
        include_str!("stencil/classes.wgsl"),
    ],
};

/// Threads of a workgroup along a row and along a column.
const TILE: [usize; 2] = [64, 4];

/// Rows of a thread, where points of a class share a coefficient.
const EACH: usize = 4;

/// Names of the coefficients of the four classes of points.
const CLASS_NAMES: [&str; 4] = ["CENTRE", "FACES", "EDGES", "CORNERS"];

/// Threads that keep a device busy, about; with more of them, each computes several planes.
const BUSY: usize = 1 << 18;

/// Most planes of a thread.
const MARCH: usize = 16;

/// Returns the text of the sum over a stencil's points.
pub(crate) fn sum_text(problem: &StencilProblem) -> String {
    let mut text = "
fn sum(zs: vec3i, ys: vec3i, xs: vec3i, own: u32) -> f32 {
    var total = 0.0;
"
    .to_owned();
    for (p, point) in problem.stencil().points().iter().enumerate() {
        let [z, y, x] = point.offset.map(|offset| offset + 1);
        let coefficient = match problem.is_per_element() {
            true => format!("coefficients[own + {p}u * COLUMNS]"),
            false => format!("{:e}f", point.coefficient),
        };
        let _ = writeln!(
            text,
            "    total += {coefficient} * value(zs[{z}], ys[{y}], xs[{x}]);"
        );
    }
    text + "    return total;\n}\n"
}

/// Returns the coefficients of the four classes of points, if these are most points within a distance of 1
/// along three axes.
fn class_weights(problem: &StencilProblem) -> Option<[f64; 4]> {
    let stencil = problem.stencil();
    let many = stencil.axes() == 3 && stencil.points().len() > 7;
    if !many || problem.is_per_element() || !stencil.is_of_classes() {
        return None;
    }
    let mut weights = [0.0; 4];
    for point in stencil.points() {
        weights[point.class()] = f64::from(point.coefficient);
    }
    Some(weights)
}

fn edge_number(edge: Edge) -> f64 {
    match edge {
        Edge::Zero => 0.0,
        Edge::Fixed => 1.0,
        Edge::Mirrored => 2.0,
        Edge::Periodic => 3.0,
    }
}

/// Returns the planes of a thread of a grid and the workgroups, for threads of so many rows.
fn divide([planes, rows, columns]: [usize; 3], each: usize) -> (usize, usize) {
    let march = (planes * rows * columns / BUSY).clamp(1, MARCH);
    let [width, height] = TILE;
    let groups = columns.div_ceil(width) * rows.div_ceil(height * each) * planes.div_ceil(march);
    (march, groups)
}

/// Makes the step that computes the stencil of a periodic grid with a coefficient for each class of points, and adds
/// it to a base: nothing (0), the array `base` (1), or the result's earlier values (2).
pub(crate) fn periodic_classes(
    device: &Arc<GpuDevice>,
    shape: [usize; 3],
    weights: [f64; 4],
    base: u8,
    arrays: [ShaderArray<'_>; 3],
) -> Result<Dispatch, GpuError> {
    let (march, groups) = divide(shape, EACH);
    let mut constants = vec![
        ("MARCH", march as f64),
        ("EDGE", edge_number(Edge::Periodic)),
        ("BASE", f64::from(base)),
    ];
    constants.extend(
        ["PLANES", "ROWS", "COLUMNS"]
            .into_iter()
            .zip(shape.map(|n| n as f64)),
    );
    constants.extend(CLASS_NAMES.into_iter().zip(weights));
    device.step(&CLASSES, &constants, &arrays, groups)
}

/// Prepares the steps of a stencil.
pub(crate) fn stencil(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<StencilProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: StencilProblem) -> Result<GpuProblem, GpuError> {
    let ([planes, rows, columns], count) = (problem.extents(), problem.elements());
    let points = problem.stencil().points().len();
    let own = if problem.is_per_element() {
        count * points
    } else {
        0
    };
    let both: [GpuBuffer<f32>; 2] = [
        GpuBuffer::new(device, "the elements", count)?,
        GpuBuffer::new(device, "the elements of the next step", count)?,
    ];
    let coefficients: GpuBuffer<f32> = GpuBuffer::new(device, "the coefficients", own)?;
    let weights = class_weights(&problem);
    let each = weights.map_or(1, |_| EACH);
    let (march, groups) = divide([planes, rows, columns], each);
    let mut constants = vec![
        ("PLANES", planes as f64),
        ("ROWS", rows as f64),
        ("COLUMNS", columns as f64),
        ("MARCH", march as f64),
        ("EDGE", edge_number(problem.edge())),
        ("FLAT", f64::from(u8::from(problem.shape().len() == 2))),
    ];
    let (name, text) = match weights {
        Some(_) => (CLASSES.name, CLASSES.text()),
        None => (STEP.name, STEP.text() + &sum_text(&problem)),
    };
    match weights {
        Some(weights) => constants.extend(CLASS_NAMES.into_iter().zip(weights)),
        None => constants.push(("POINTS", points as f64)),
    }
    let step = |[from, to]: [&GpuBuffer<f32>; 2]| {
        let arrays = [read(from), write(to), read(&coefficients)];
        device.step_of_text(name, text.clone(), &constants, &arrays, groups)
    };
    let pair = [step([&both[0], &both[1]])?, step([&both[1], &both[0]])?];
    let sums = if weights.is_some() {
        " as sums of planes"
    } else {
        ""
    };
    let recipe = format!("{points} points{sums}, {march} planes a thread");
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        both[0].write(input.get_sized("u", count)?)?;
        if own > 0 {
            coefficients.write(input.get_sized("c", own)?)?;
        }
        session.execute(pair.iter().cycle().take(problem.steps()))?;
        let result = &both[problem.steps() % 2];
        Ok(wrap_output(&problem, session.read(result)?))
    }))
}
