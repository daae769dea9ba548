//! The cost of packing a matrix, reported alike by all commands.

use crate::table::seconds;
use cp2_kernels::sparse::Packing;
use cp2_machine::Machine;
use serde_json::{Value, json};

/// Cost of packing a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackingCost {
    /// Seconds of host time, and seconds on the simulated control CPU.
    host: f64,
    simulated: f64,
    /// Number of products after which packing pays off, if it ever does.
    pays_after: Option<u64>,
}

impl PackingCost {
    /// Computes the cost from a packing that took `host` seconds, where a product takes `product` cycles.
    pub(crate) fn new(packing: Packing, host: f64, product: f64, machine: &Machine) -> Self {
        Self {
            host,
            simulated: packing.cycles() / machine.cp2.clock_hz as f64,
            pays_after: packing.break_even_products(product),
        }
    }

    /// Returns the figures as text.
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

    /// Returns the figures as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "pack_seconds": self.host,
            "pack_seconds_simulated": self.simulated,
            "pays_after": self.pays_after,
        })
    }
}
