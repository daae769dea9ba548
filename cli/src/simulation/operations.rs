//! The bound of a run's own operations, as text and as JSON.

use cp2_host::OperationsBound;
use serde_json::{Value, json};

/// Reports the bound of the operations of a run that took `cycles`, with all terms; says if there is none.
pub(crate) fn operations_text(bound: Option<&OperationsBound>, cycles: u64) -> String {
    let Some((bound, limit)) = bound.and_then(|bound| Some((bound, bound.limit()?))) else {
        return "own operations: no bound, for the run did not finish\n".to_owned();
    };
    let others = bound.terms.iter().skip(1);
    let others: Vec<_> = others.map(|(limit, n)| format!("{limit} {n}")).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; {}", others.join(", ")),
    };
    format!(
        "own operations: bound {} cycles ({limit}), efficiency {:.3}{others}\n",
        bound.cycles(),
        bound.efficiency(cycles)
    )
}

/// Returns the field of the bound of the operations of a run that took `cycles`; null if there is none.
pub(crate) fn operations_json(bound: Option<&OperationsBound>, cycles: u64) -> Value {
    let object = bound.map(|bound| {
        let terms = bound.terms.iter();
        let terms = terms.map(|(limit, n)| json!({ "limit": limit.to_string(), "cycles": n }));
        json!({
            "cycles": bound.cycles(),
            "limit": bound.limit().map(|limit| limit.to_string()),
            "efficiency": bound.efficiency(cycles),
            "terms": terms.collect::<Vec<_>>(),
        })
    });
    json!({ "operations_bound": object })
}
