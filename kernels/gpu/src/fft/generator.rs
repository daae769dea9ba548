//! The text of a transform in a workgroup: Stockham's algorithm, pass by pass.
//!
//! Every thread holds the inputs of its butterflies in registers. Between two passes the numbers are exchanged
//! through shared memory, the real parts first and the imaginary parts after them, so that half the memory
//! is enough. The functions `load` and `store` of another file say where numbers come from and go to.

use super::layout::GroupLayout;
use std::fmt::Write as _;

/// How threads are numbered: lanes of one transform side by side, or transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Neighbouring threads are lanes of one transform: numbers of a line are neighbours in memory.
    Lanes,
    /// Neighbouring threads are transforms: lines are neighbours in memory.
    Transforms,
}

/// Work of a workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupTask {
    /// Forward transforms.
    Transform,
    /// Forward transforms, products with `filtered`, and inverse transforms.
    Convolve,
}

/// Text of a transform in the course of being written.
struct Writer<'a> {
    layout: &'a GroupLayout,
    text: String,
    /// Passes so far.
    pass: usize,
}

/// Returns the text of the entry point for a number of transforms.
pub(crate) fn entry_point(
    layout: &GroupLayout,
    task: GroupTask,
    numbering: [Numbering; 2],
    transforms: usize,
) -> String {
    let (lanes, together, threads) = (layout.lanes, layout.together, layout.threads());
    let mut writer = Writer {
        layout,
        text: format!(
            "
var<workgroup> exchanged: array<f32, {floats}>;

@compute @workgroup_size({threads})
fn main(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {{
    let first_transform = (group.x + group.y * groups.x) * {together}u;
",
            floats = layout.floats(),
        ),
        pass: 0,
    };
    for (i, numbering) in numbering.into_iter().enumerate() {
        let [local, lane] = match numbering {
            Numbering::Lanes => [format!("thread / {lanes}u"), format!("thread % {lanes}u")],
            Numbering::Transforms => [
                format!("thread % {together}u"),
                format!("thread / {together}u"),
            ],
        };
        writer.line(&format!("let local{i} = {local};"));
        writer.line(&format!("let lane{i} = {lane};"));
        writer.line(&format!("let base{i} = local{i} * {}u;", layout.pitch));
        writer.line(&format!("let transform{i} = first_transform + local{i};"));
        writer.line(&format!("let live{i} = transform{i} < {transforms}u;"));
    }
    writer.transform(&layout.radices, true);
    if task == GroupTask::Convolve {
        writer.filter();
        let reversed: Vec<usize> = layout.radices.iter().rev().copied().collect();
        writer.transform(&reversed, false);
    }
    writer.store(task);
    writer.text.push_str("}\n");
    writer.text
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    /// Returns which numbering of threads a pass has: the first pass loads, all others follow the last one.
    fn numbered(&self, pass: usize) -> usize {
        usize::from(pass > 0)
    }

    /// Returns the butterflies of a thread, and whether all threads have as many.
    fn butterflies(&self, radix: usize) -> (usize, bool) {
        let all = self.layout.n / radix;
        let each = all.div_ceil(self.layout.lanes);
        (each, each * self.layout.lanes == all)
    }

    /// Writes lines for each butterfly of a pass, guarded where a thread may have none.
    fn each(&mut self, pass: usize, radix: usize, live: bool, of: impl Fn(usize) -> Vec<String>) {
        let (count, full) = self.butterflies(radix);
        let i = self.numbered(pass);
        for j in 0..count {
            let mut guards = Vec::new();
            if live {
                guards.push(format!("live{i}"));
            }
            if !full && j + 1 == count {
                guards.push(format!("b{pass}_{j} < {}u", self.layout.n / radix));
            }
            let lines = of(j);
            if guards.is_empty() {
                lines.iter().for_each(|line| self.line(line));
                continue;
            }
            self.line(&format!("if {} {{", guards.join(" && ")));
            lines
                .iter()
                .for_each(|line| self.line(&format!("    {line}")));
            self.line("}");
        }
    }

    /// Declares the butterflies of a pass: their numbers and their values.
    fn declare(&mut self, pass: usize, radix: usize) {
        let i = self.numbered(pass);
        for j in 0..self.butterflies(radix).0 {
            let skipped = j * self.layout.lanes;
            self.line(&format!("let b{pass}_{j} = lane{i} + {skipped}u;"));
            self.line(&format!("var v{pass}_{j}: array<vec2f, {radix}>;"));
        }
    }

    /// Writes the passes of a transform, whose input is loaded or is where the last pass left it.
    fn transform(&mut self, radices: &[usize], loads: bool) {
        let mut done = 1;
        let n = self.layout.n;
        for (at, &radix) in radices.iter().enumerate() {
            let apart = n / radix;
            if at > 0 {
                self.exchange(radices[at - 1], radix, done / radices[at - 1]);
                self.twiddle(radix, done);
            } else if loads {
                let pass = self.pass;
                self.declare(pass, radix);
                let i = self.numbered(pass);
                self.each(pass, radix, true, |j| {
                    let number = |q| {
                        format!(
                            "v{pass}_{j}[{q}] = load(transform{i}, b{pass}_{j} + {}u);",
                            q * apart
                        )
                    };
                    (0..radix).map(number).collect()
                });
            }
            let pass = self.pass;
            if radix > 1 {
                self.each(pass, radix, false, |j| {
                    vec![format!("v{pass}_{j} = dft{radix}(v{pass}_{j});")]
                });
            }
            done *= radix;
        }
    }

    /// Writes the exchange between two passes; `done` is the length of transforms before the first of them.
    fn exchange(&mut self, before: usize, radix: usize, done: usize) {
        let (pass, next) = (self.pass, self.pass + 1);
        let (i, k) = (self.numbered(pass), self.numbered(next));
        let apart = self.layout.n / radix;
        self.declare(next, radix);
        for part in ["x", "y"] {
            if pass > 0 || part == "y" {
                self.line("workgroupBarrier();");
            }
            self.each(pass, before, false, |j| {
                let b = format!("b{pass}_{j}");
                let first = match done {
                    1 => format!("{b} * {before}u"),
                    _ => format!("{b} / {done}u * {}u + {b} % {done}u", done * before),
                };
                let mut lines = vec![format!("let at = {first};")];
                lines.extend((0..before).map(|q| {
                    let at = format!("at + {}u", q * done);
                    format!("exchanged[base{i} + {at} + ({at}) / 32u] = v{pass}_{j}[{q}].{part};")
                }));
                let block = lines.join(" ");
                vec![format!("{{ {block} }}")]
            });
            self.line("workgroupBarrier();");
            self.each(next, radix, false, |j| {
                let number = |q| {
                    let at = format!("b{next}_{j} + {}u", q * apart);
                    format!("v{next}_{j}[{q}].{part} = exchanged[base{k} + {at} + ({at}) / 32u];")
                };
                (0..radix).map(number).collect()
            });
        }
        self.pass = next;
    }

    /// Writes the products with powers of a root before a pass.
    fn twiddle(&mut self, radix: usize, done: usize) {
        let pass = self.pass;
        let step = self.layout.n / (done * radix);
        self.each(pass, radix, false, |j| {
            let mut lines = vec![format!("let w1 = roots[b{pass}_{j} % {done}u * {step}u];")];
            for q in 1..radix {
                if q > 1 {
                    lines.push(format!("let w{q} = product(w{}, w{});", q / 2, q - q / 2));
                }
                lines.push(format!(
                    "v{pass}_{j}[{q}] = product(v{pass}_{j}[{q}], w{q});"
                ));
            }
            vec![format!("{{ {} }}", lines.join(" "))]
        });
    }

    /// Writes the products with a spectrum; the conjugates of their transforms are the inverse ones.
    fn filter(&mut self) {
        let (pass, radix) = (self.pass, self.layout.radices.last().copied().unwrap_or(1));
        let (apart, i) = (self.layout.n / radix, self.numbered(pass));
        self.each(pass, radix, false, |j| {
            let number = |q| {
                let (v, at) = (
                    format!("v{pass}_{j}[{q}]"),
                    format!("b{pass}_{j} + {}u", q * apart),
                );
                format!("{v} = conjugate(filtered(transform{i}, {at}, {v}));")
            };
            (0..radix).map(number).collect()
        });
    }

    fn store(&mut self, task: GroupTask) {
        let radix = match task {
            GroupTask::Transform => self.layout.radices.last(),
            GroupTask::Convolve => self.layout.radices.first(),
        };
        let radix = radix.copied().unwrap_or(1);
        let (pass, apart) = (self.pass, self.layout.n / radix);
        let i = self.numbered(pass);
        self.each(pass, radix, true, |j| {
            let number = |q| {
                let v = match task {
                    GroupTask::Transform => format!("v{pass}_{j}[{q}]"),
                    GroupTask::Convolve => format!("conjugate(v{pass}_{j}[{q}])"),
                };
                format!("store(transform{i}, b{pass}_{j} + {}u, {v});", q * apart)
            };
            (0..radix).map(number).collect()
        });
    }
}
