//! Cost proxies of a proposal: counts of bits, ports and products.
//!
//! Each is a formula of the machine's parameters.
//!
//! The formulas are assumptions of this project, and nothing here is an area, an energy or a clock period.

use crate::outcome::CommandFailure;
use cp2_machine::{Extensions, Machine};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Bits of the significand of a single-precision number, and of a double-precision one.
const SINGLE: i64 = 24;
const DOUBLE: i64 = 53;
/// Bits of a quad.
const QUAD: i64 = 128;

/// A term of a cost: what is counted, by which formula, how many on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CostTerm {
    key: &'static str,
    formula: &'static str,
    amount: i64,
}

/// Keys of costs, in the order of reports.
const KEYS: [&str; 9] = [
    "register_bits",
    "state_bits",
    "sram_kib",
    "ports",
    "write_enables",
    "adder_bits",
    "multiplier_products",
    "multiplexer_bits",
    "dma_buffer_bits",
];

/// Difference of a cost between two machines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) key: &'static str,
    pub(super) amount: i64,
    /// Formulas of the terms that differ, with their values before and after.
    pub(super) formula: String,
}

/// Returns the bits that address so many units.
fn bits(units: u64) -> i64 {
    i64::from(u64::BITS - units.saturating_sub(1).leading_zeros())
}

fn terms(machine: &Machine) -> Vec<CostTerm> {
    let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let sections = whole(machine.cp2.sections as u64);
    let address = bits(machine.cp2.dmem.0);
    let granule = whole(machine.dma.granule.0);
    let has = |flag: Extensions| i64::from(machine.cp2.extensions.contains(flag));
    let bandwidth = machine.dma.bandwidth;
    let lines = match machine.dma.has_fine_granules() {
        true => whole(machine.dma.lines.max(1)),
        false => 1,
    };
    let (multipliers, adders) = machine.cp2.units();
    let beat = whole(bandwidth.num.div_ceil(bandwidth.den.max(1)));
    let multiplier = match machine.cp2.extensions.contains(Extensions::DOUBLE) {
        true => (2 * DOUBLE * DOUBLE).max(i64::from(multipliers) * SINGLE * SINGLE),
        false => i64::from(multipliers) * SINGLE * SINGLE,
    };
    // A row leads results of units to inputs of units in a way of its own: two inputs of each primitive.
    let rows = machine.cp2.rows.iter().map(|row| row.definition());
    let wired: u64 = rows.map(|row| row.flow.operations() as u64).sum();
    let term = |key, formula, amount| CostTerm {
        key,
        formula,
        amount,
    };
    let gather = has(Extensions::SECTION_ADDRESSING);
    let words = has(Extensions::WORD_ADDRESSING);
    let exchange = has(Extensions::EXCHANGE);
    let errors = has(Extensions::DOUBLE_SINGLE);
    vec![
        term(
            "register_bits",
            "sections x registers x lanes x 32",
            sections * whole((machine.cp2.registers * machine.cp2.register_lanes) as u64) * 32,
        ),
        term(
            "state_bits",
            "conditional: 4 x sections",
            4 * sections * has(Extensions::CONDITIONAL),
        ),
        term(
            "sram_kib",
            "sections x dmem / KiB",
            sections * whole(machine.cp2.dmem.0) / 1024,
        ),
        term(
            "sram_kib",
            "program / KiB",
            whole(machine.cp2.program.0) / 1024,
        ),
        term(
            "ports",
            "sections x ports of DMEM",
            sections * i64::from(machine.cp2.dmem_ports),
        ),
        term(
            "write_enables",
            "word-addressing: 4 x sections, one for each word of a row",
            4 * sections * words,
        ),
        term(
            "adder_bits",
            "sections x adders x 24",
            sections * i64::from(adders) * SINGLE,
        ),
        term(
            "adder_bits",
            "section-addressing: sections x log2(dmem)",
            sections * address * gather,
        ),
        term(
            "adder_bits",
            "word-addressing: 4 x sections x (log2(dmem) - 4)",
            4 * sections * (address - 4) * words,
        ),
        term(
            "adder_bits",
            "list-transfers: 32",
            32 * has(Extensions::LIST_TRANSFERS),
        ),
        term(
            "multiplier_products",
            "sections x (multipliers x 24 x 24; double at half rate: at least 2 x 53 x 53)",
            sections * multiplier,
        ),
        term(
            "multiplexer_bits",
            "section-addressing: sections x 48 (a half-word of three or four)",
            48 * sections * gather,
        ),
        term(
            "multiplexer_bits",
            "word-addressing: 2 x 2 x 128 x sections",
            2 * 2 * QUAD * sections * words,
        ),
        term(
            "multiplexer_bits",
            "exchange: 2 x sections x (sections - 1) x 128",
            2 * sections * (sections - 1) * QUAD * exchange,
        ),
        term(
            "adder_bits",
            "double-single: sections x 4 x 2 x 24 (digits of sums and products that are kept)",
            sections * 4 * 2 * SINGLE * errors,
        ),
        term(
            "multiplexer_bits",
            "double-single: sections x 4 normalisers x 24 x log2(24)",
            sections * 4 * SINGLE * 5 * errors,
        ),
        term(
            "ports",
            "granule below 16 B: sections x (lines a cycle - 1)",
            sections * (lines - 1),
        ),
        term(
            "multiplexer_bits",
            "rows of the machine file: sections x 2 x 32 x primitives",
            sections * 2 * 32 * whole(wired),
        ),
        term(
            "multiplexer_bits",
            "granule below 16 B: 2 x log2(16 B / granule) x 128",
            2 * (4 - bits(machine.dma.granule.0)).max(0) * QUAD,
        ),
        term(
            "dma_buffer_bits",
            "granule below 16 B: 2 x (128 - 8 x granule)",
            2 * (QUAD - 8 * granule).max(0),
        ),
        term(
            "dma_buffer_bits",
            "list-transfers: 16 entries x 64",
            16 * 64 * has(Extensions::LIST_TRANSFERS),
        ),
        term(
            "dma_buffer_bits",
            "2 x 8 x bandwidth, rounded up to bytes",
            2 * 8 * beat,
        ),
    ]
}

/// Keys of parameters that the formulas read.
const COUNTED: [&str; 10] = [
    "cp2.sections",
    "cp2.registers",
    "cp2.register-lanes",
    "cp2.dmem",
    "cp2.dmem-ports",
    "cp2.program",
    "cp2.extensions",
    "dma.granule",
    "dma.lines",
    "dma.bandwidth",
];

/// Returns what a machine has more than another one, and the parameters that differ and that no formula reads.
pub(super) fn costs(before: &Machine, after: &Machine) -> (Vec<Cost>, Vec<&'static str>) {
    let (old, new) = (terms(before), terms(after));
    let pairs = || old.iter().zip(&new);
    let all = KEYS.iter().filter_map(|&key| {
        let differ: Vec<_> = pairs()
            .filter(|(a, b)| a.key == key && a.amount != b.amount)
            .collect();
        let formulas: Vec<String> = differ
            .iter()
            .map(|(a, b)| format!("{}: {} -> {}", a.formula, a.amount, b.amount))
            .collect();
        (!differ.is_empty()).then(|| Cost {
            key,
            amount: differ.iter().map(|(a, b)| b.amount - a.amount).sum(),
            formula: formulas.join("; "),
        })
    });
    let theirs: BTreeMap<_, _> = before.parameters().map(|p| (p.row.key, p.value)).collect();
    let other = after.parameters().filter(|p| {
        let same = theirs.get(p.row.key).is_none_or(|value| *value == p.value);
        !same && !COUNTED.contains(&p.row.key)
    });
    (all.collect(), other.map(|p| p.row.key).collect())
}

/// Returns costs as an object of JSON.
pub(super) fn object(costs: &[Cost]) -> Value {
    let all = costs.iter().map(|cost| {
        let value = json!({"amount": cost.amount, "formula": cost.formula});
        (cost.key.to_owned(), value)
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// Weights of costs, assumed by the user: a sum of costs of different kinds is a matter of taste.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CostWeights(BTreeMap<String, f64>);

impl CostWeights {
    /// Reads weights, `multiplexer_bits = 1.5` in a line each.
    pub(super) fn parse(source: &str) -> Result<Self, CommandFailure> {
        let weights: BTreeMap<String, f64> =
            toml::from_str(source).map_err(CommandFailure::input)?;
        for (key, weight) in &weights {
            if !KEYS.contains(&key.as_str()) {
                return Err(CommandFailure::input(format!(
                    "`{key}` is no cost; expected one of {}",
                    KEYS.join(", ")
                )));
            }
            if !weight.is_finite() {
                return Err(CommandFailure::input(format!(
                    "`{key}`: expected a finite number"
                )));
            }
        }
        Ok(Self(weights))
    }

    /// Returns the weighted sum of costs; those without a weight count nothing.
    pub(super) fn sum(&self, costs: &[Cost]) -> f64 {
        let weight = |cost: &Cost| self.0.get(cost.key).copied().unwrap_or(0.0);
        costs
            .iter()
            .map(|cost| weight(cost) * cost.amount as f64)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(changes: &str) -> Vec<(&'static str, i64)> {
        let vm7 = Machine::builtin("vm7").unwrap_or_else(|| panic!("vm7"));
        let after = vm7.with_changes(changes).unwrap_or_else(|e| panic!("{e}"));
        let (costs, _) = costs(&vm7, &after);
        costs.iter().map(|c| (c.key, c.amount)).collect()
    }

    #[test]
    fn costs_are_those_of_the_formulas() {
        assert_eq!(
            of("section-addressing"),
            [("adder_bits", 64), ("multiplexer_bits", 192)]
        );
        assert_eq!(
            of("word-addressing"),
            [
                ("write_enables", 16),
                ("adder_bits", 4 * 4 * 12),
                ("multiplexer_bits", 2048)
            ]
        );
        assert_eq!(
            of("dma.granule=4B"),
            [("multiplexer_bits", 512), ("dma_buffer_bits", 192)]
        );
        assert_eq!(
            of("dma.granule=4B+dma.lines=4"),
            [
                ("ports", 12),
                ("multiplexer_bits", 512),
                ("dma_buffer_bits", 192)
            ]
        );
        assert_eq!(
            of("list-transfers"),
            [("adder_bits", 32), ("dma_buffer_bits", 1024)]
        );
        assert_eq!(of("cp2.dmem=x2"), [("sram_kib", 256)]);
        assert_eq!(of("dma.bandwidth=x2"), [("dma_buffer_bits", 256)]);
        let eight = of("cp2.sections=8");
        assert!(
            eight.contains(&("register_bits", 4 * 64 * 2 * 32)),
            "{eight:?}"
        );
        assert!(
            eight.contains(&("multiplier_products", 4 * 2304)),
            "{eight:?}"
        );
    }

    /// By hand: four sections, each with 4 multipliers and 2 adders more than 4 and 6, and 12 primitives of one
    /// row.
    #[test]
    fn rows_pay_for_their_units_and_their_wiring() {
        let vm7 = Machine::builtin("vm7").unwrap_or_else(|| panic!("vm7"));
        let text = "base = \"vm7\"\n[[row]]\nmnemonic = \"axpy\"\nform = \"Q4\"\nclass = \"madd\"\n\
            multipliers = 8\nadders = 8\nlanes = \"d[i] = fadd(fmul(a[i], b[i]), fmul(c[i], 0.5))\"\n";
        let mine = Machine::parse("mine.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let (costs, uncounted) = costs(&vm7, &mine);
        let costs: Vec<_> = costs.iter().map(|c| (c.key, c.amount)).collect();
        let expected = [
            ("adder_bits", 4 * 2 * 24),
            ("multiplier_products", 4 * 4 * 24 * 24),
            ("multiplexer_bits", 4 * 2 * 32 * 12),
        ];
        assert_eq!((&costs[..], uncounted.len()), (&expected[..], 0));
    }

    #[test]
    fn a_parameter_without_a_formula_is_named() {
        let vm7 = Machine::builtin("vm7").unwrap_or_else(|| panic!("vm7"));
        let after = vm7
            .with_changes("cp2.latency.load=1")
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(costs(&vm7, &after), (Vec::new(), vec!["cp2.latency.load"]));
    }

    #[test]
    fn weights_are_of_known_costs() {
        let weights = CostWeights::parse("multiplexer_bits = 2\nadder_bits = 0.5\n");
        let weights = weights.unwrap_or_else(|e| panic!("{}", e.message));
        let cost = |key, amount| Cost {
            key,
            amount,
            formula: String::new(),
        };
        let all = [
            cost("adder_bits", 64),
            cost("multiplexer_bits", 192),
            cost("ports", 3),
        ];
        assert_eq!(weights.sum(&all), 416.0);
        assert!(CostWeights::parse("area = 1").is_err());
        assert!(CostWeights::parse("ports = nan").is_err());
    }
}
