//! Writes a timeline as a Chrome/Perfetto JSON trace.

use super::{JobTimeline, Timeline, Track};
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
        begin(out, self.dropped)?;
        self.write_process(out, 1, processor)?;
        writeln!(out, "\n]}}")
    }

    /// Writes the tracks of a processor, which is the process `pid`.
    fn write_process(&self, out: &mut dyn Write, pid: usize, processor: &str) -> io::Result<()> {
        write_name(out, (pid, 0), "process_name", processor)?;
        for (i, track) in Track::ALL.into_iter().enumerate() {
            writeln!(out, ",")?;
            write_name(out, (pid, i + 1), "thread_name", track.name())?;
            write_order(out, (pid, i + 1), i)?;
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
                ",\n{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{},\"args\":{args}}}",
                slice.track as usize + 1,
                micros(self.base, slice.start),
                micros(self.base, Ticks(slice.end.0 - slice.start.0)),
                slice.category.name(),
                Value::from(slice.title()),
            )?;
        }
        Ok(())
    }
}

impl JobTimeline {
    /// Writes the trace-event JSON that Perfetto and `chrome://tracing` open, see [`Timeline::write_perfetto`].
    ///
    /// Each processor is a process, and the network is one with a lane for every link. An arrow leads from a send to
    /// the end of the wait that it ended.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_perfetto(&self, out: &mut dyn Write, title: &str) -> io::Result<()> {
        begin(out, self.dropped())?;
        for (number, timeline) in self.processors.iter().enumerate() {
            if number > 0 {
                writeln!(out, ",")?;
            }
            let name = format!("processor {number}, {title}");
            timeline.write_process(out, number + 1, &name)?;
        }
        let network = self.processors.len() + 1;
        if !self.links.is_empty() {
            writeln!(out, ",")?;
            write_name(out, (network, 0), "process_name", "network")?;
        }
        for (lane, link) in self.links.iter().enumerate() {
            writeln!(out, ",")?;
            write_name(out, (network, lane + 1), "thread_name", &link.name)?;
            write_order(out, (network, lane + 1), lane)?;
            for slice in &link.slices {
                write!(
                    out,
                    ",\n{{\"ph\":\"X\",\"pid\":{network},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"link\",\"name\":{},\"args\":{{\"bytes\":{}}}}}",
                    lane + 1,
                    micros(PICOSECONDS, Ticks(slice.start_ps)),
                    micros(
                        PICOSECONDS,
                        Ticks(slice.end_ps.saturating_sub(slice.start_ps))
                    ),
                    Value::from(slice.name.as_str()),
                    slice.bytes,
                )?;
            }
        }
        let host = Track::Host as usize + 1;
        for (id, message) in self.messages.iter().enumerate() {
            // An arrow begins in the slice that encloses its time: that of a send ends when it is done.
            let sent = message.sent_ps.saturating_sub(1);
            for (phase, processor, at) in [
                ("\"s\"", message.from, sent),
                ("\"f\",\"bp\":\"e\"", message.to, message.taken_ps),
            ] {
                write!(
                    out,
                    ",\n{{\"ph\":{phase},\"id\":{id},\"pid\":{},\"tid\":{host},\"ts\":{},\"cat\":\"message\",\"name\":\"message\",\"args\":{{\"tag\":{},\"bytes\":{}}}}}",
                    processor + 1,
                    micros(PICOSECONDS, Ticks(at)),
                    message.tag,
                    message.bytes,
                )?;
            }
        }
        writeln!(out, "\n]}}")
    }
}

/// Time base whose ticks are picoseconds.
const PICOSECONDS: TimeBase = TimeBase {
    ticks_per_cycle: 1000,
    ticks_per_granule: 1,
    clock_hz: 1_000_000_000,
};

fn begin(out: &mut dyn Write, dropped: u64) -> io::Result<()> {
    writeln!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped_slices\":{dropped}}},\"traceEvents\":["
    )
}

/// Writes the name of a process, or of a lane of one.
fn write_name(
    out: &mut dyn Write,
    (pid, tid): (usize, usize),
    kind: &str,
    name: &str,
) -> io::Result<()> {
    let event = json!({"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": name}});
    write!(out, "{event}")
}

/// Writes the place of a lane among those of its process.
fn write_order(out: &mut dyn Write, (pid, tid): (usize, usize), place: usize) -> io::Result<()> {
    let event = json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": place}});
    write!(out, ",\n{event}")
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
