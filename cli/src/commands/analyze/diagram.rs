//! Two iterations of a loop: a line for each word, a column for each cycle.

use cp2_asm::Program;
use cp2_asm::analysis::SteadyLoop;
use cp2_asm::issue::WaitOn;
use cp2_machine::{Class, Extensions};
use std::fmt::Write as _;

/// Columns of a line of the legend.
const WIDTH: usize = 110;

/// Explains the letters of the units that a machine with these extensions has.
pub(super) fn explain_letters(extensions: Extensions) -> String {
    let units = Class::ALL
        .into_iter()
        .filter(|class| extensions.contains(class.requires()) && *class != Class::Control);
    let mut text = String::new();
    let mut line = "  # issues; waits for a result of".to_owned();
    for (i, class) in units.enumerate() {
        let unit = format!(" {} {}", class_letter(class), class.name());
        if i > 0 {
            line.push(',');
        }
        if line.len() + unit.len() > WIDTH {
            text += &line;
            text.push('\n');
            line = " ".to_owned();
        }
        line += &unit;
    }
    text += &line;
    text += ";\n  u waits for a busy unit; - the body starts again\n";
    text
}

fn letter(on: WaitOn) -> char {
    match on {
        WaitOn::Unit(_) => 'u',
        WaitOn::Operand { producer, .. } => class_letter(producer),
    }
}

fn class_letter(class: Class) -> char {
    match class {
        Class::Integer => 'i',
        Class::Add => 'a',
        Class::Madd => 'm',
        Class::Butterfly => 'b',
        Class::Elementary => 'e',
        Class::DoubleAdd => 'd',
        Class::DoubleMadd => 'f',
        Class::DoubleComplex => 'z',
        Class::Error => 'o',
        Class::Load => 'l',
        Class::Gather => 'g',
        Class::Unaligned => 'w',
        Class::Exchange => 'r',
        Class::Neighbour => 'n',
        Class::Vote => 'v',
        Class::ScalarLoad => 's',
        Class::Scalar => 'x',
        Class::Control => 'c',
    }
}

/// Draws the shown words of a loop.
pub(super) fn draw(steady: &SteadyLoop, program: &Program) -> String {
    let mut text = String::new();
    let places = steady.shown.iter().map(|word| program.lines.get(word.pc));
    let lines: Vec<_> = places
        .map(|line| line.map_or(String::new(), |line| line.line.to_string()))
        .collect();
    let width = lines.iter().map(String::len).max().unwrap_or(0);
    let end = steady.shown.last().map_or(0, |last| last.at + 1);
    for (word, line) in steady.shown.iter().zip(&lines) {
        // The way back to the first word is drawn before it.
        let is_first =
            Some(word.pc) == steady.shown.first().map(|first| first.pc) && word.begin > 0;
        let back = if is_first { steady.back } else { 0 };
        let column = |cycle: u64| match cycle {
            c if c == word.at => '#',
            c if c >= word.begin && c < word.at => word.on.map_or('.', letter),
            c if c < word.begin && c + back >= word.begin => '-',
            _ => '.',
        };
        let columns: String = (0..end).map(column).collect();
        let instruction = program
            .words
            .get(word.pc)
            .and_then(|&bits| program.isa().decode(bits).ok());
        let instruction = instruction.map_or(String::new(), |word| word.to_string());
        let _ = writeln!(text, "  {line:>width$}  {columns}  {instruction}");
    }
    text
}
