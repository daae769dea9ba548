//! Listings of a machine: parameters, TOML, JSON, and its hash.

use crate::provenance::{Origin, Provenance};
use crate::quantity::{Quantity, Value};
use crate::table::{EXTENSION_ROWS, NETWORK_ROWS, ROWS, Row, all_rows};
use crate::{
    Bytes, ClassMap, Cp2, Cycles, Dma, Extensions, Host, LINE_BYTES, Machine, NetworkParameters,
    Ratio, Topology,
};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// One parameter of one machine, for listings.
#[derive(Clone, Debug)]
pub struct Parameter<'m> {
    /// The parameter's row: everything that is known about it except the value.
    pub row: &'static Row,
    /// The value in the base unit.
    pub value: Value,
    /// The number as people write it.
    pub text: String,
    /// Its unit; empty where there is none.
    pub unit: &'static str,
    /// Source and reference of the value.
    pub origin: &'m Origin,
}

/// Tables of a machine file, in the order of files and listings.
const TABLES: [&str; 4] = ["cp2", "dma", "host", "network"];

impl Row {
    /// Returns the table of a machine file that the parameter stands in.
    fn table(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }
}

impl Machine {
    /// Iterates over every parameter that the machine has, with value, unit and origin. Those of extensions
    /// come last among the parameters of their table.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        let all = all_rows().zip(&self.provenance.0);
        let own = all.filter(|(row, _)| row.is_of(self));
        let mut own: Vec<_> = own.collect();
        own.sort_by_key(|(row, _)| TABLES.iter().position(|table| *table == row.table()));
        own.into_iter().map(|(row, origin)| {
            let value = (row.get)(self);
            let (text, unit) = row.quantity.format(value);
            Parameter {
                row,
                value,
                text,
                unit,
                origin,
            }
        })
    }

    /// Returns the machine with its processors linked in another way, and the hash that it has then.
    #[must_use]
    pub fn with_topology(self, topology: Topology) -> Self {
        let mut machine = self;
        machine.network.topology = topology;
        machine.hash = machine.compute_hash();
        machine
    }

    /// True if the network is not the default one.
    fn has_own_network(&self) -> bool {
        self.network != NetworkParameters::default()
    }

    /// Returns a complete machine file; loading it gives this machine again.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let quote = |s: &str| toml::Value::from(s).to_string();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "name = {}", quote(&self.name));
        let _ = writeln!(out, "description = {}", quote(&self.description));
        if !self.note.is_empty() {
            let _ = writeln!(out, "note = {}", quote(&self.note));
        }
        let mut section = "";
        let own_network = self.has_own_network();
        let written = |p: &Parameter<'_>| own_network || p.row.table() != "network";
        for p in self.parameters().filter(written) {
            let (table, key) = p.row.key.rsplit_once('.').unwrap_or(("", p.row.key));
            // The scalar keys of a table come before its sub-tables, as TOML
            // demands, because dotted keys stay with their first component.
            let top = table.split('.').next().unwrap_or(table);
            if top != section {
                let _ = writeln!(out, "\n[{top}]");
                section = top;
            }
            let key = table.strip_prefix(top).map_or_else(
                || key.to_owned(),
                |rest| format!("{rest}.{key}").trim_start_matches('.').to_owned(),
            );
            let _ = write!(out, "{key} = {{ value = {}", toml_value(&p));
            if !p.unit.is_empty() {
                let _ = write!(out, ", unit = {}", quote(p.unit));
            }
            let _ = write!(out, ", source = {}", quote(p.origin.source.name()));
            if !p.origin.reference.is_empty() {
                let _ = write!(out, ", ref = {}", quote(&p.origin.reference));
            }
            out.push_str(" }\n");
        }
        for row in &self.cp2.rows {
            let _ = write!(out, "\n{}", row.definition().to_toml());
        }
        out
    }

    /// Returns name, hash and every parameter as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let parameters = self.parameters().map(|p| {
            let value = match p.value {
                Value::Integer(_) if matches!(p.row.quantity, Quantity::Choice(_)) => {
                    p.text.as_str().into()
                }
                Value::Integer(_) => p
                    .text
                    .parse::<u64>()
                    .map_or(serde_json::Value::Null, Into::into),
                Value::Ratio(r) => r.as_f64().into(),
                Value::Names(set) => set.names().collect::<Vec<_>>().into(),
            };
            let entry = serde_json::json!({
                "value": value,
                "unit": p.unit,
                "source": p.origin.source.name(),
                "ref": p.origin.reference,
                "doc": p.row.doc,
            });
            (p.row.key.to_owned(), entry)
        });
        let parameters: serde_json::Map<_, _> = parameters.collect();
        let rows = self.cp2.rows.iter().map(|row| row.definition().to_json());
        serde_json::json!({
            "schema": "cp2-machine/1",
            "name": self.name,
            "description": self.description,
            "note": self.note,
            "hash": self.hash,
            "parameters": parameters,
            "rows": rows.collect::<Vec<_>>(),
        })
    }

    /// Computes SHA-256 over `key = value` in base units, one line per parameter. Two machines have equal
    /// hashes exactly if all their numbers are equal.
    pub(crate) fn compute_hash(&self) -> String {
        let mut hasher = Sha256::new();
        // Equal networks leave the hashes of machines as they were before there were any.
        let network = NETWORK_ROWS.iter().filter(|_| self.has_own_network());
        let own = |row: &&Row| row.is_of(self);
        let extensions = EXTENSION_ROWS.iter().filter(own);
        for row in ROWS.iter().chain(network).chain(extensions) {
            let value = match (row.get)(self) {
                Value::Integer(v) => v.to_string(),
                Value::Ratio(r) => format!("{}/{}", r.num, r.den),
                Value::Names(set) => set.names().collect::<Vec<_>>().join(","),
            };
            hasher.update(format!("{} = {value}\n", row.key));
        }
        for row in &self.cp2.rows {
            hasher.update(format!("row {}\n", row.definition().essence()));
        }
        let mut hex = String::new();
        for byte in hasher.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// Returns a machine with nothing set: the start for a file without base.
    pub(crate) fn blank() -> Self {
        let zero = Ratio { num: 0, den: 1 };
        Self {
            name: String::new(),
            description: String::new(),
            note: String::new(),
            hash: String::new(),
            cp2: Cp2 {
                clock_hz: 0,
                sections: 0,
                registers: 0,
                register_lanes: 0,
                dmem: Bytes::ZERO,
                dmem_ports: 0,
                program: Bytes::ZERO,
                loop_depth: 0,
                call_depth: 0,
                events: 0,
                // Control words have no result, so nothing waits for their latency.
                latency: ClassMap::from_fn(|_| Cycles(1)),
                interval: ClassMap::from_fn(|_| Cycles(1)),
                branch_penalty: Cycles::ZERO,
                loop_setup: Cycles::ZERO,
                loop_back: Cycles::ZERO,
                extensions: Extensions::empty(),
                rows: Vec::new(),
            },
            dma: Dma {
                granule: Bytes(1),
                deal: Bytes(1),
                bandwidth: zero,
                queue: 0,
                setup_idle: Cycles::ZERO,
                setup_queued: Cycles::ZERO,
                run: Cycles::ZERO,
                levels: 0,
                beat: Bytes(LINE_BYTES),
                lines: 1,
                entry: Cycles::ZERO,
            },
            host: Host {
                memory: Bytes::ZERO,
                launch: Cycles::ZERO,
                completion: Cycles::ZERO,
                descriptor: Cycles::ZERO,
                copy: zero,
                scalar: Cycles::ZERO,
            },
            network: NetworkParameters::default(),
            provenance: Provenance::default(),
        }
    }
}

impl From<Machine> for String {
    fn from(machine: Machine) -> Self {
        machine.to_toml()
    }
}

impl TryFrom<String> for Machine {
    type Error = crate::MachineError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse("saved machine", &text)
    }
}

fn toml_value(p: &Parameter<'_>) -> String {
    match p.value {
        Value::Names(set) => {
            let names: Vec<String> = set.names().map(|n| format!("\"{n}\"")).collect();
            format!("[{}]", names.join(", "))
        }
        _ if p.text.contains('/') || matches!(p.row.quantity, Quantity::Choice(_)) => {
            format!("\"{}\"", p.text)
        }
        _ => p.text.clone(),
    }
}
