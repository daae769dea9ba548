//! Rules of a machine that involve several parameters.

use crate::error::{Located, Problem};
use crate::read::Layer;
use crate::table::ROWS;
use crate::{Machine, TimeBase};

/// Most ticks that a CP2 cycle may take in a time base. At this limit a simulation of 2^44 cycles (five hours
/// at 1 GHz) still fits 64-bit ticks.
const MAX_TICKS: u64 = 1 << 20;

/// Checks the machine as a whole, and returns the problems with their places in the file that made it.
pub(crate) fn check(machine: &Machine, layer: &Layer) -> Vec<Located> {
    let mut problems = Vec::new();
    if layer.base.is_none() {
        let set = |i| layer.settings.iter().any(|s| s.index == i);
        let keys: Vec<String> = (0..ROWS.len())
            .filter(|&i| !set(i))
            .map(|i| ROWS[i].key.to_owned())
            .collect();
        if !keys.is_empty() {
            let place = Some(crate::error::Place {
                file: layer.file.clone(),
                span: 0..0,
            });
            return vec![Located {
                problem: Problem::Missing { keys },
                place,
            }];
        }
    }
    for setting in &layer.settings {
        let missing = setting.row.requires - machine.cp2.extensions;
        if !missing.is_empty() {
            problems.push(Located {
                problem: Problem::WithoutExtension {
                    key: setting.row.key,
                    extensions: missing.names().collect::<Vec<_>>().join(", "),
                },
                place: Some(setting.place.clone()),
            });
        } else if let Some(condition) = setting.row.condition.filter(|c| !(c.holds)(machine)) {
            problems.push(Located {
                problem: Problem::WithoutCondition {
                    key: setting.row.key,
                    condition: condition.words,
                    change: condition.change,
                },
                place: Some(setting.place.clone()),
            });
        }
    }
    for (keys, problem) in broken_rules(machine) {
        // The problem is reported at a setting of this file, whichever of the rule's parameters that is.
        let place = layer.settings.iter().find(|s| keys.contains(&s.row.key));
        problems.push(Located {
            problem,
            place: place.map(|s| s.place.clone()),
        });
    }
    problems
}

type Broken = (&'static [&'static str], Problem);

fn broken_rules(m: &Machine) -> Vec<Broken> {
    let mut broken = Vec::new();
    let granule = m.dma.granule;
    let sizes: [(&'static [&'static str], u64); 3] = [
        (&["cp2.dmem", "dma.granule"], m.cp2.dmem.0),
        (&["cp2.program", "dma.granule"], m.cp2.program.0),
        (&["host.memory", "dma.granule"], m.host.memory.0),
    ];
    for (keys, size) in sizes {
        if size % granule.0 != 0 {
            broken.push((
                keys,
                Problem::Impossible {
                    key: keys[0].to_owned(),
                    value: format!("{size} B"),
                    rule: format!("a multiple of the DMA granule ({granule})"),
                },
            ));
        }
    }
    let TimeBase {
        ticks_per_cycle,
        ticks_per_granule,
        ..
    } = m.time_base();
    if ticks_per_cycle > MAX_TICKS || ticks_per_granule > MAX_TICKS {
        broken.push((&["dma.bandwidth", "dma.granule"], Problem::Impossible {
            key: "dma.bandwidth".to_owned(),
            value: format!("{} B/cycle", m.dma.bandwidth),
            rule: format!(
                "fewer digits: the exact time base would need {ticks_per_cycle} ticks per cycle \
                 and {ticks_per_granule} per granule, at most {MAX_TICKS} are possible"
            ),
        }));
    }
    broken
}
