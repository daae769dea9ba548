//! Verdicts on a proposal for a row: figures before and after, compared.

use super::measured::{RowFigures, RowResult, rounded};

/// Speed-up from which a proposal gains.
pub(super) const GAIN: f64 = 1.01;
/// Factor by which the reference must gain more than the kernel before no kernel uses a proposal.
const UNUSED: f64 = 1.05;
/// Part of a gain below which the best base program known has most of it.
const OWN: f64 = 1.0 / 3.0;

/// Judgement of a proposal for a row; ratios are rounded as they are printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Judgement {
    /// Time before / after: the ratio of cycles where both machines have the same clock.
    pub(super) speedup: Option<f64>,
    /// Reference before / after.
    pub(super) reference_speedup: Option<f64>,
    /// Cycles of the best base program known / cycles after, where one competes that is not the kernel's.
    pub(super) own_speedup: Option<f64>,
    /// Conclusion; none where a row is refused.
    pub(super) verdict: Option<String>,
    /// Reason why the row has no figures on one of the machines.
    pub(super) refused: Option<String>,
}

/// Class of a verdict: its first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerdictClass {
    Gains,
    NoGain,
    NotUsed,
    Software,
}

impl VerdictClass {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gains => "gains",
            Self::NoGain => "no gain",
            Self::NotUsed => "no kernel uses it",
            Self::Software => "software would do",
        }
    }
}

/// Returns the time of some cycles before / the time of others after.
fn ratio((before, after): (u64, u64), clocks: (u64, u64)) -> f64 {
    let faster = clocks.1 as f64 / clocks.0.max(1) as f64;
    rounded(before as f64 / after.max(1) as f64 * faster)
}

/// Judges the results of a row without and with a proposal.
pub(super) fn judge(before: &RowResult, after: &RowResult) -> Judgement {
    let refused = |reason: String| Judgement {
        refused: Some(reason),
        ..Judgement::default()
    };
    match (before, after) {
        (Ok(before), Ok(after)) => compare(before, after),
        (Err(before), Ok(_)) => Judgement {
            verdict: Some("gains: it runs, and does not without the proposal".to_owned()),
            ..refused(format!("before: {}", before.reason))
        },
        (_, Err(after)) => refused(after.reason.clone()),
    }
}

fn compare(before: &RowFigures, after: &RowFigures) -> Judgement {
    let clocks = (before.clock_hz, after.clock_hz);
    let speedup = ratio((before.cycles, after.cycles), clocks);
    let reference = ratio((before.reference_cycles, after.reference_cycles), clocks);
    let rival = before.rival.as_ref();
    let own = rival.map(|rival| {
        let best = rival.cycles.get().min(before.cycles);
        ratio((best, after.cycles), clocks)
    });
    let class = classify(speedup, reference, own);
    let limit = &after.limit;
    let text = match class {
        VerdictClass::Gains if reference >= UNUSED * speedup => {
            format!("the reference gains more; now limited by {limit}")
        }
        VerdictClass::Gains => format!("now limited by {limit}"),
        VerdictClass::NotUsed => "the reference gains, the kernel does not".to_owned(),
        VerdictClass::Software => {
            let method = rival.map_or("", |rival| &rival.method);
            format!("{method}: counted, not written")
        }
        VerdictClass::NoGain if speedup * GAIN < 1.0 => {
            format!("because it takes longer, limited by {limit}")
        }
        VerdictClass::NoGain if before.cycles == after.cycles => {
            format!("because of {limit}: the same cycles")
        }
        VerdictClass::NoGain => format!("because of {limit}"),
    };
    let between = match class {
        VerdictClass::NoGain => ", ",
        _ => ": ",
    };
    Judgement {
        speedup: Some(speedup),
        reference_speedup: Some(reference),
        own_speedup: own,
        verdict: Some(format!("{}{between}{text}", class.name())),
        refused: None,
    }
}

/// Returns the class of a verdict from the printed ratios.
pub(super) fn classify(speedup: f64, reference: f64, own: Option<f64>) -> VerdictClass {
    let gain = speedup - 1.0;
    if speedup >= GAIN {
        return match own {
            Some(own) if own - 1.0 < OWN * gain => VerdictClass::Software,
            _ => VerdictClass::Gains,
        };
    }
    match reference >= UNUSED * speedup && reference >= GAIN {
        true => VerdictClass::NotUsed,
        false => VerdictClass::NoGain,
    }
}

/// Returns the class of a judgement; none where a row has no figures.
pub(super) fn class_of(judged: &Judgement) -> Option<VerdictClass> {
    Some(classify(
        judged.speedup?,
        judged.reference_speedup?,
        judged.own_speedup,
    ))
}

/// Describes the rules of the verdicts in one line.
pub(super) fn rules() -> String {
    format!(
        "gains: speed-up of {GAIN} or more; no kernel uses it: less, and the reference gains {GAIN} or more and {UNUSED} times as much as the kernel; \
         software would do: the speed-up over the best base plan that is counted (own) is below a third of the gain"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_machine::Cycles;
    use cp2_reference::Rival;

    fn row(cycles: u64, reference_cycles: u64) -> RowFigures {
        RowFigures {
            cycles,
            reference_cycles,
            clock_hz: 1_000_000_000,
            limit: "dma".to_owned(),
            balance: None,
            rival: None,
        }
    }

    #[test]
    fn classes_follow_from_the_printed_ratios() {
        use VerdictClass::{Gains, NoGain, NotUsed, Software};
        for (speedup, reference, own, class) in [
            (1.01, 1.0, None, Gains),
            (1.009, 1.0, None, NoGain),
            (1.0, 1.05, None, NotUsed),
            (1.0, 1.049, None, NoGain),
            // Nothing is left unused if both take longer.
            (0.9, 1.0, None, NoGain),
            (1.3, 2.0, None, Gains),
            (1.3, 1.0, Some(1.099), Software),
            (1.3, 1.0, Some(1.101), Gains),
            (1.3, 1.0, Some(0.8), Software),
            (1.0, 1.0, Some(0.8), NoGain),
        ] {
            assert_eq!(
                classify(speedup, reference, own),
                class,
                "{speedup} {reference} {own:?}"
            );
        }
    }

    /// As many cycles of twice the clock are half the time, for the reference as well.
    #[test]
    fn speedups_are_of_time() {
        let before = row(1000, 800);
        let after = RowFigures {
            clock_hz: 2 * before.clock_hz,
            ..before.clone()
        };
        let judged = judge(&Ok(before), &Ok(after));
        assert_eq!(
            (judged.speedup, judged.reference_speedup),
            (Some(2.0), Some(2.0))
        );
    }

    #[test]
    fn a_rival_is_compared_with_what_the_proposal_takes() {
        let mut before = row(1300, 1000);
        let after = Ok(row(1000, 1000));
        let verdict = |before: &RowFigures| judge(&Ok(before.clone()), &after).verdict;
        assert_eq!(
            verdict(&before).as_deref(),
            Some("gains: now limited by dma")
        );
        before.rival = Some(Rival {
            cycles: Cycles(1050),
            method: "shifted rows".to_owned(),
            source: String::new(),
        });
        let judged = judge(&Ok(before.clone()), &after);
        assert_eq!(
            (judged.speedup, judged.own_speedup),
            (Some(1.3), Some(1.05))
        );
        assert!(
            judged
                .verdict
                .is_some_and(|v| v.starts_with("software would do: shifted rows"))
        );
        // A plan that would take longer than the kernel does not compete.
        before.rival = before.rival.map(|rival| Rival {
            cycles: Cycles(2000),
            ..rival
        });
        assert_eq!(judge(&Ok(before), &after).own_speedup, Some(1.3));
    }
}
