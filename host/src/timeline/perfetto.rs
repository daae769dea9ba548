//! Writes a timeline as a Chrome/Perfetto JSON trace.

use super::{Timeline, Track};
use cp2_machine::{Ticks, TimeBase};
use serde_json::{Value, json};
use std::io::{self, Write};

impl Timeline {
    /// Writes the trace-event JSON that Perfetto (<https://ui.perfetto.dev>)
    /// and `chrome://tracing` open. `ts` and `dur` are microseconds of
    /// simulated time in exact decimals where they have a finite one (any
    /// clock of a whole number of MHz whose only prime factors are 2 and 5),
    /// else to the femtosecond. `processor` names the process.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_perfetto(&self, out: &mut dyn Write, processor: &str) -> io::Result<()> {
        writeln!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped_slices\":{}}},\"traceEvents\":[",
            self.dropped
        )?;
        let name = |what: &str, tid: Option<usize>, name: &str| json!({"ph": "M", "pid": 1, "tid": tid.unwrap_or(0), "name": what, "args": {"name": name}});
        write!(out, "{}", name("process_name", None, processor))?;
        for (i, track) in Track::ALL.into_iter().enumerate() {
            write!(out, ",\n{}", name("thread_name", Some(i + 1), track.name()))?;
            let order = json!({"ph": "M", "pid": 1, "tid": i + 1, "name": "thread_sort_index", "args": {"sort_index": i}});
            write!(out, ",\n{order}")?;
        }
        for slice in &self.slices {
            let mut args = json!({"command": slice.command, "source": slice.name});
            if let Value::Object(map) = &mut args {
                if let Some(page) = slice.page {
                    map.insert("page".into(), page.into());
                }
                if slice.bytes > 0 {
                    map.insert("bytes".into(), slice.bytes.into());
                }
                let per = self.base.ticks_per_cycle as f64;
                map.insert("cycle".into(), json!(slice.start.0 as f64 / per));
                map.insert(
                    "cycles".into(),
                    json!((slice.end.0 - slice.start.0) as f64 / per),
                );
            }
            // Numbers are written by hand: a float would round them.
            write!(
                out,
                ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{},\"args\":{args}}}",
                slice.track as usize + 1,
                micros(self.base, slice.start),
                micros(self.base, Ticks(slice.end.0 - slice.start.0)),
                slice.category.name(),
                Value::from(slice.title()),
            )?;
        }
        writeln!(out, "\n]}}")
    }
}

/// Formats a time in microseconds as a decimal number.
pub(super) fn micros(base: TimeBase, t: Ticks) -> String {
    // t / (ticks_per_cycle * clock_hz) seconds.
    let den = u128::from(base.ticks_per_cycle) * u128::from(base.clock_hz).max(1);
    let num = u128::from(t.0) * 1_000_000;
    let (whole, mut rest) = (num / den, num % den);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        for _ in 0..9 {
            rest *= 10;
            text.push(char::from(b'0' + (rest / den) as u8));
            rest %= den;
            if rest == 0 {
                break;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        let vm9 = TimeBase {
            ticks_per_cycle: 4,
            ticks_per_granule: 5,
            clock_hz: 1_000_000_000,
        };
        assert_eq!(micros(vm9, Ticks(5)), "0.00125");
        assert_eq!(micros(vm9, Ticks(4_000_000)), "1000");
        let vm7 = TimeBase {
            ticks_per_cycle: 1,
            ticks_per_granule: 1,
            clock_hz: 200_000_000,
        };
        assert_eq!(micros(vm7, Ticks(1)), "0.005");
        let odd = TimeBase {
            ticks_per_cycle: 3,
            ticks_per_granule: 1,
            clock_hz: 1_000_000,
        };
        assert_eq!(micros(odd, Ticks(1)), "0.333333333");
    }
}
