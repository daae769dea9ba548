//! Messages between processors, in simulated time.
//!
//! * [`Interconnect`]: links and routes of a topology.
//! * [`Links`]: whole messages on links, first come, first served, cut-through.
//! * [`Record`]: what a processor did, as bytes for other ranks.
//! * [`Communication`]: matching, network events and waits; equal on every rank.
//! * [`Process`]: a processor that runs alone until it waits, tests or ends.
//! * [`Transport`]: how ranks (processes of the host) exchange bytes; [`InProcess`] is one rank.
//! * [`run_processes`]: the loop that runs processes window by window.
//! * [`Communicator`]: programs as straight code, `async` functions that [`run_programs`] runs.
//! * [`NetworkBenchmark`]: programs whose times formulas give.
//!
//! A processor never sees the others while it runs. What it did is applied to the communication of every
//! rank, which then says who goes on, when, and with which messages. So windows, times and reports do not
//! depend on the number of ranks, nor on that of the host threads of a rank.
//!
//! ```
//! use cp2_machine::NetworkParameters;
//! use cp2_network::{Communication, InProcess, Picoseconds, Process, ProcessError, ProcessLog};
//! use cp2_network::{Resume, Yield, run_processes};
//!
//! /// Sends its number to its neighbour, and waits for that of the other one.
//! struct Neighbour(usize, bool);
//!
//! impl Process for Neighbour {
//!     fn run(&mut self, mut resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
//!         let now = resume.wake.at;
//!         if self.1 {
//!             let received = resume.payloads.pop().map(|(_, bytes)| bytes);
//!             assert_eq!(received, Some(vec![1 - self.0 as u8]));
//!             return Ok(Yield::End { at: now });
//!         }
//!         self.1 = true;
//!         let receive = log.receive(now, Some(1 - self.0), Some(7), 1);
//!         let send = log.send(now, 1 - self.0, 7, vec![self.0 as u8]);
//!         Ok(Yield::Wait { at: now, requests: vec![receive, send] })
//!     }
//! }
//!
//! let mut communication = Communication::new(&NetworkParameters::default(), 2, Picoseconds::ZERO)?;
//! let mut processes = [Neighbour(0, false), Neighbour(1, false)];
//! let report = run_processes(&mut InProcess, &mut communication, &mut processes, 2, b"version")?;
//! // Three hops of 100 ns, and 21 bytes of 800 ps.
//! assert_eq!(report.ends, [Picoseconds(316_800); 2]);
//! # Ok::<(), cp2_network::NetworkError>(())
//! ```

mod benchmark;
mod cartesian;
mod communication;
mod error;
mod exchange;
mod links;
mod process;
mod program;
mod record;
mod time;
mod topology;
mod trace;
mod transport;
mod turns;

pub use benchmark::{BenchmarkRun, ClosedForm, NetworkBenchmark};
pub use cartesian::CartesianGrid;
pub use communication::{
    Advance, BlockedProcessor, CONTROL_BYTES, Communication, Completion, Envelope, PendingRequest,
    RESERVED_TAGS, RequestKind, Wake,
};
pub use error::{NetworkError, ProcessFailure};
pub use exchange::{run_processes, share_of};
pub use links::{LinkReport, Links, NetworkReport};
pub use process::{Process, ProcessError, ProcessLog, Resume, Yield};
pub use program::{
    Communicator, CompletedMessage, MessageHandle, MessageTicket, MessageValue, ProgramOperation,
    ProgramStop, ProgramTurn, PutNotification, SuspendedProgram, Window, run_programs,
};
pub use record::{Record, RecordedOperation, Request};
pub use time::Picoseconds;
pub use topology::{Endpoint, Interconnect, LinkEnds};
pub use trace::{LinkTurn, MessageTransit, NetworkTrace};
pub use transport::{InProcess, Transport, TransportError, gather};
