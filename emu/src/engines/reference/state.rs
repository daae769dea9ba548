//! State of the coprocessor as a value: cloned, compared, serialised.

use super::Coprocessor;
use super::Status;
use crate::account::counters::Counters;
use crate::account::waits::Waited;
use crate::core::Core;
use crate::engines::choice::Engine;
use crate::processor::port::Port;
use crate::processor::programs::Programs;
use crate::timing::Scoreboard;
use serde::{Deserialize, Serialize};

/// A coprocessor without the fields that only mirror its state.
#[derive(Serialize, Deserialize)]
pub(super) struct CoprocessorState {
    core: Core,
    status: Status,
    port: Port,
    counters: Counters,
    board: Scoreboard,
    waited: Waited,
    now: u64,
}

impl From<Coprocessor> for CoprocessorState {
    fn from(cp2: Coprocessor) -> Self {
        Self {
            counters: cp2.counters(),
            board: cp2.board(),
            waited: cp2.waited.clone(),
            core: cp2.core,
            status: cp2.status,
            port: cp2.port,
            now: cp2.now,
        }
    }
}

impl From<CoprocessorState> for Coprocessor {
    fn from(state: CoprocessorState) -> Self {
        Self {
            core: state.core,
            status: state.status,
            port: state.port,
            engine: Engine::default(),
            counters: state.counters,
            board: state.board,
            waited: state.waited,
            now: state.now,
            programs: Programs::default(),
        }
    }
}

impl Clone for Coprocessor {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            status: self.status.clone(),
            port: self.port.clone(),
            engine: self.engine,
            counters: self.counters(),
            board: self.board(),
            waited: self.waited.clone(),
            now: self.now,
            programs: Programs::default(),
        }
    }
}

/// Compares all state. The engine and its translations are no state.
impl PartialEq for Coprocessor {
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
            && self.status == other.status
            && self.counters() == other.counters()
            && self.port == other.port
            && self.board() == other.board()
            && self.waited == other.waited
            && self.now == other.now
    }
}
