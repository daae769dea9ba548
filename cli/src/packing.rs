//! What it costs to pack a matrix: every command that packs one says the same of it.

use crate::table::seconds;
use cp2_kernels::sparse::Packing;
use cp2_machine::Machine;
use serde_json::{Value, json};

/// The packing of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackingCost {
    /// Seconds: of this computer, and of the control CPU.
    host: f64,
    simulated: f64,
    /// Products after which it pays, if it does.
    pays_after: Option<u64>,
}

impl PackingCost {
    /// One that took so many seconds of this computer, where a product takes so many cycles.
    pub(crate) fn new(packing: Packing, host: f64, product: f64, machine: &Machine) -> Self {
        Self {
            host,
            simulated: packing.cycles() / machine.cp2.clock_hz as f64,
            pays_after: packing.break_even_products(product),
        }
    }

    /// The figures in words.
    pub(crate) fn text(&self) -> String {
        let pays = match self.pays_after {
            Some(1) => "pays after 1 product".to_owned(),
            Some(products) => format!("pays after {products} products"),
            None => "never pays: the control CPU is as fast with compressed rows".to_owned(),
        };
        format!(
            "{} on this computer; the control CPU would take {}, which {pays}",
            seconds(self.host),
            seconds(self.simulated)
        )
    }

    /// The figures for programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "pack_seconds": self.host,
            "pack_seconds_simulated": self.simulated,
            "pays_after": self.pays_after,
        })
    }
}
