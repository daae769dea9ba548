//! Candidates for the code of a segment's steps; the cheapest is taken.

use super::build::{BuiltSegment, LoopEnds, build};
use super::code_form::CodeForm;
use super::loop_passes::LoopRegisters;
use super::retime::{Retimed, retime};
use super::segment_steps::SegmentSteps;
use super::vector_sharing::{self, Partner, Partners};

/// Layouts that are tried for a loop; each is the one in which a pass of the previous layout leaves
/// the registers.
const LAYOUTS: usize = 3;

/// Returns segments that the steps may become, all of them equivalent. `looping` says that the
/// steps are a loop's whole body; code that runs once per call is built in the first form only.
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
        let partners = vector_sharing::find(steps, looping);
        let retimed = looping.then(|| retime(steps, &partners)).flatten();
        let same = same_pass_partners(&partners);
        let layout = looping.then(|| LoopRegisters::collect_carried(steps, &same, &partners, form));
        all.extend(layouts(steps, &same, layout, form));
        if let Some(retimed) = retimed {
            all.extend(overlapping(retimed, &same, &partners, form));
        }
    }
    all
}

/// Returns the partners in the same pass, by step.
fn same_pass_partners(partners: &Partners) -> Vec<Option<usize>> {
    let mut of = vec![None; partners.of.len()];
    for (i, partner) in partners.of.iter().enumerate() {
        if let Partner::Same(j) = *partner {
            of[i] = Some(j);
        }
    }
    of
}

/// Builds the segments of the steps, one layout after the other.
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

/// Builds the segments of a loop whose passes overlap.
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
        // The first pass is built as code that runs once.
        segment.ends = Some(Box::new(LoopEnds {
            first: build(first.clone(), same, None, form).0,
            last: build(last.clone(), &[], None, form).0,
        }));
    }
    all
}
