//! The dependences between the operations of overlapping iterations.

use super::check::pairs_of;
use super::dataflow::{DataOperand, Dataflow, table};
use super::placement::{latency, overlap};
use super::registers::ALL_REGISTERS;
use crate::analysis::{CycleRatio, Dependence, find_largest_ratio};
use cp2_machine::{Class, Machine};

/// A dependence: node `to` of iteration `i + distance` is issued `latency` cycles or more after node `from` of
/// iteration `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScheduleEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) latency: i64,
    pub(super) distance: i64,
}

/// Something that takes a slot once per iteration: an operation, or the load of a pointer's step.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduleNode {
    pub(super) class: Class,
    /// True if it takes the memory slot.
    pub(super) memory: bool,
    /// Cycles for which it keeps its unit busy.
    pub(super) busy: i64,
    pub(super) latency: i64,
}

/// The dependences of a body on a machine.
///
/// Nodes are the operations by their numbers, then the loads of steps in the order of the pointers.
#[derive(Clone, Debug)]
pub(super) struct DependenceGraph {
    pub(super) nodes: Vec<ScheduleNode>,
    pub(super) edges: Vec<ScheduleEdge>,
    /// Node that loads each pointer's step, where a table has the step.
    pub(super) steps: Vec<Option<usize>>,
    /// Writers and readers of every value, see [`ValueUses`].
    pub(super) values: Vec<ValueUses>,
}

/// The nodes that write and read a value.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueUses {
    pub(super) writers: Vec<usize>,
    /// Readers with the iterations that lie between.
    pub(super) readers: Vec<(usize, i64)>,
    /// True if it is read behind the last iteration.
    pub(super) kept: bool,
    /// Registers that it takes.
    pub(super) width: i64,
    /// True if these are scalars.
    pub(super) scalar: bool,
}

/// Number of dependences from which on the bound leaves those between accesses out.
const MANY_EDGES: usize = 4096;

impl DependenceGraph {
    /// Lists the dependences of a body.
    pub(super) fn new(body: &Dataflow, machine: &Machine) -> Self {
        let node = |class: Class, memory: bool| ScheduleNode {
            class,
            memory,
            busy: i64::try_from(machine.cp2.interval[class].0)
                .unwrap_or(i64::MAX)
                .max(1),
            latency: latency(machine, class),
        };
        let mut nodes: Vec<ScheduleNode> = body
            .ops
            .iter()
            .map(|op| ScheduleNode {
                latency: op.latency(machine),
                ..node(op.class, op.takes_memory())
            })
            .collect();
        let mut steps = Vec::new();
        for (pointer, &(_, step)) in body.pointers.iter().enumerate() {
            let used = accesses(body, pointer).next().is_some();
            steps.push((used && table(step).is_some()).then_some(nodes.len()));
            if steps.last().is_some_and(Option::is_some) {
                nodes.push(node(Class::ScalarLoad, true));
            }
        }
        let mut graph = Self {
            nodes,
            edges: Vec::new(),
            steps,
            values: list_values(body),
        };
        graph.add_values(body);
        graph.add_fixed_registers(body);
        graph.add_orders(body);
        graph.add_pointers(body, latency(machine, Class::Scalar).max(1));
        graph.edges.sort_unstable();
        graph.edges.dedup();
        graph
    }

    fn add(&mut self, from: usize, to: usize, latency: i64, distance: i64) {
        self.edges.push(ScheduleEdge {
            from,
            to,
            latency,
            distance,
        });
    }

    fn add_values(&mut self, body: &Dataflow) {
        let mut writers: Vec<Vec<(usize, DataOperand)>> = vec![Vec::new(); body.quads.len()];
        for (number, op) in body.ops.iter().enumerate() {
            for &def in &op.defs {
                if let Some((value, _)) = def.value() {
                    writers[value.0].push((number, def));
                }
            }
        }
        for (reader, op) in body.ops.iter().enumerate() {
            let replaced = op.after.iter().map(|&operand| (operand, 0));
            for (used, distance) in op.reads().chain(replaced) {
                let own = used.value().map(|(value, _)| &writers[value.0]);
                for &(writer, def) in own.into_iter().flatten() {
                    if overlap(def, used) {
                        let latency = self.nodes[writer].latency;
                        self.add(writer, reader, latency, i64::from(distance));
                    }
                }
            }
        }
    }

    /// Adds the dependences of registers that the body writes itself: they are read before they are written
    /// again, and results land in their order.
    fn add_fixed_registers(&mut self, body: &Dataflow) {
        for register in 0..ALL_REGISTERS {
            let names = |operands: &[DataOperand]| {
                operands
                    .iter()
                    .any(|&operand| pairs_of(operand).contains(&register))
            };
            let writers: Vec<usize> = (0..body.ops.len())
                .filter(|&op| names(&body.ops[op].defs))
                .collect();
            let (Some(&first), Some(&last)) = (writers.first(), writers.last()) else {
                continue;
            };
            let readers = (0..body.ops.len()).filter(|&op| names(&body.ops[op].uses));
            for reader in readers {
                // An operation reads before it writes.
                let before = writers.iter().rev().find(|&&writer| writer < reader);
                let (from, back) = before.map_or((last, 1), |&writer| (writer, 0));
                self.add(from, reader, self.nodes[from].latency, back);
                let behind = writers.iter().find(|&&writer| writer >= reader);
                let (to, on) = behind.map_or((first, 1), |&writer| (writer, 0));
                self.add(reader, to, 0, on);
            }
            for (number, &writer) in writers.iter().enumerate() {
                let (next, on) = (writers.get(number + 1)).map_or((first, 1), |&next| (next, 0));
                let apart = self.nodes[writer].latency + 1 - self.nodes[next].latency;
                self.add(writer, next, apart.max(1), on);
            }
        }
    }

    fn add_orders(&mut self, body: &Dataflow) {
        for order in &body.orders {
            self.add(order.before, order.after, 1, i64::from(order.distance));
        }
        for &(stores, loads) in &body.behind {
            for store in accesses(body, stores) {
                for load in accesses(body, loads) {
                    self.add(load, store, 1, -1);
                }
            }
        }
    }

    /// Adds the dependences of pointers that step: all accesses of an iteration lie between two steps.
    fn add_pointers(&mut self, body: &Dataflow, update: i64) {
        for pointer in 0..body.pointers.len() {
            if body.must_step(pointer) {
                for one in accesses(body, pointer) {
                    for other in accesses(body, pointer) {
                        self.add(one, other, update, 1);
                    }
                }
            }
            if let Some(step) = self.steps[pointer] {
                // The register that goes through the table has stepped before its next load.
                if body.unstalled {
                    self.add(step, step, update, 1);
                }
                for access in accesses(body, pointer) {
                    self.add(access, step, 1, 1);
                }
            }
        }
    }

    /// Adds the dependences that let the registers of all values repeat after `unroll` iterations.
    pub(super) fn limit_unroll(&mut self, unroll: u32) {
        let unroll = i64::from(unroll);
        for value in std::mem::take(&mut self.values) {
            for &writer in &value.writers {
                for &(reader, distance) in &value.readers {
                    self.add(reader, writer, 0, unroll - distance);
                }
                for &other in &value.writers {
                    self.add(other, writer, self.nodes[other].latency, unroll);
                }
                for last in (0..self.nodes.len()).filter(|_| value.kept) {
                    self.add(last, writer, 1, unroll);
                }
            }
            self.values.push(value);
        }
        self.edges.sort_unstable();
        self.edges.dedup();
    }

    /// Makes `access` the last access through its pointer, with which the pointer steps.
    pub(super) fn end_pointer(&mut self, body: &Dataflow, pointer: usize, access: usize) {
        let Some(step) = self.steps.get(pointer).copied().flatten() else {
            return;
        };
        for other in accesses(body, pointer).filter(|&other| other != access) {
            self.add(other, access, 1, 0);
        }
        self.add(step, access, self.nodes[step].latency, 0);
    }

    /// Makes arithmetic begin in an order of the operations.
    pub(super) fn keep_order(&mut self, order: impl Iterator<Item = usize>) {
        let mut last = None;
        for op in order {
            if !self.nodes[op].memory {
                last.into_iter().for_each(|last| self.add(last, op, 0, 0));
                last = Some(op);
            }
        }
    }

    /// Returns the largest ratio of latency to iterations of the cycles of dependences, and the operations of
    /// such a cycle.
    pub(super) fn find_recurrence(&self) -> Option<(CycleRatio, Vec<usize>)> {
        // The accesses through one pointer are all pairs. Where these are many they are left out: a bound without
        // them is a bound.
        let many = self.edges.len() > MANY_EDGES;
        let within = |edge: &ScheduleEdge| {
            let memory = |node: usize| self.nodes[node].memory;
            edge.distance == 1 && memory(edge.from) && memory(edge.to)
        };
        let edges = self.edges.iter().filter(|edge| !many || !within(edge));
        let edges = edges.filter_map(|edge| {
            Some(Dependence {
                from: edge.from,
                to: edge.to,
                latency: u64::try_from(edge.latency).ok()?,
                distance: u64::try_from(edge.distance).ok()?,
            })
        });
        find_largest_ratio(self.nodes.len(), &edges.collect::<Vec<_>>())
    }

    /// Returns a cycle of dependences within one iteration: such a body has no order at all.
    pub(super) fn find_contradiction(&self) -> Option<Vec<usize>> {
        let edges = self.edges.iter().filter(|edge| edge.distance == 0);
        let edges: Vec<Dependence> = edges
            .filter_map(|edge| {
                Some(Dependence {
                    from: edge.from,
                    to: edge.to,
                    latency: u64::try_from(edge.latency).ok()?,
                    distance: 1,
                })
            })
            .collect();
        find_largest_ratio(self.nodes.len(), &edges).map(|(_, cycle)| cycle)
    }
}

/// Returns the numbers of the accesses through a pointer.
pub(super) fn accesses(body: &Dataflow, pointer: usize) -> impl Iterator<Item = usize> {
    let ops = body.ops.iter().enumerate();
    ops.filter(move |(_, op)| op.access.is_some_and(|a| a.pointer == pointer))
        .map(|(number, _)| number)
}

fn list_values(body: &Dataflow) -> Vec<ValueUses> {
    let mut values: Vec<ValueUses> = body
        .quads
        .iter()
        .enumerate()
        .map(|(value, &quad)| ValueUses {
            width: 1 + i64::from(quad),
            scalar: body.is_scalar(value),
            ..ValueUses::default()
        })
        .collect();
    for value in &body.outputs {
        values[value.0].kept = true;
    }
    for (number, op) in body.ops.iter().enumerate() {
        for (value, _) in op.defs.iter().filter_map(|def| def.value()) {
            values[value.0].writers.push(number);
        }
        for (used, distance) in op.reads() {
            if let Some((value, _)) = used.value() {
                values[value.0].readers.push((number, i64::from(distance)));
            }
        }
    }
    values
}
