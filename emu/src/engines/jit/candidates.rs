//! The segments that some steps may become; the cheapest is taken.

use super::build::{BuiltSegment, LoopEnds, build};
use super::form::CodeForm;
use super::partners::{self, Partner, Partners};
use super::retime::{Retimed, retime};
use super::rounds::LoopRegisters;
use super::steps::SegmentSteps;

/// Layouts to try for a loop, each the one that a pass in the one before leaves.
const LAYOUTS: usize = 3;

/// The segments that the steps may become, any of which will do; `looping` where
/// they are a loop's whole body. What runs once per call has the first form.
pub(super) fn candidates(
    steps: &SegmentSteps,
    looping: bool,
    forms: &[CodeForm],
) -> Vec<BuiltSegment> {
    let mut all = Vec::new();
    let forms = if looping {
        forms
    } else {
        forms.get(..1).unwrap_or(&[])
    };
    for &form in forms {
        if form.narrow() {
            let layout = looping.then(|| LoopRegisters::natural(steps, form));
            all.extend(layouts(steps, &[], layout, form));
            continue;
        }
        let partners = partners::find(steps, looping);
        let retimed = looping.then(|| retime(steps, &partners)).flatten();
        let same = same(&partners);
        let layout = looping.then(|| LoopRegisters::collect_carried(steps, &same, &partners, form));
        all.extend(layouts(steps, &same, layout, form));
        if let Some(retimed) = retimed {
            all.extend(overlapping(retimed, &same, &partners, form));
        }
    }
    all
}

/// Partners in the same pass.
fn same(partners: &Partners) -> Vec<Option<usize>> {
    let mut of = vec![None; partners.of.len()];
    for (i, partner) in partners.of.iter().enumerate() {
        if let Partner::Same(j) = *partner {
            of[i] = Some(j);
        }
    }
    of
}

/// The segments of the steps with one layout after the other.
fn layouts(
    steps: &SegmentSteps,
    partners: &[Option<usize>],
    mut layout: Option<LoopRegisters>,
    form: CodeForm,
) -> Vec<BuiltSegment> {
    let mut all = Vec::new();
    for _ in 0..LAYOUTS {
        let (segment, left) = build(steps.clone(), partners, layout.as_ref(), form);
        all.push(segment);
        let better =
            layout.filter(|layout| *layout != left && left.carried.len() <= form.carried());
        if better.is_none() {
            break;
        }
        layout = Some(left);
    }
    all
}

/// The segments of a loop whose passes overlap.
fn overlapping(
    retimed: Retimed,
    same: &[Option<usize>],
    partners: &Partners,
    form: CodeForm,
) -> Vec<BuiltSegment> {
    let Retimed {
        first,
        steps,
        last,
        partners: of,
    } = retimed;
    let layout = LoopRegisters::collect_carried(&steps, &of, partners, form);
    let mut all = layouts(&steps, &of, Some(layout), form);
    for segment in &mut all {
        // Its first pass is built like what runs once.
        segment.ends = Some(Box::new(LoopEnds {
            first: build(first.clone(), same, None, form).0,
            last: build(last.clone(), &[], None, form).0,
        }));
    }
    all
}
