//! Tests of random bodies on random machines: schedules do what the text says.

use super::super::check::check_placement;
use super::super::{
    DataImmediate, DataOperand, DataPointer, DataValue, Dataflow, FreeRegisters, IntervalRefusal,
    Iterations, PointerStep, RefusedInterval, ScheduleCache, ScheduleReport, ScheduleRequest,
};
use super::replay::{assert_no_wait, define, replay};
use DataOperand::{Hi, Lo, Pair, Quad, Whole};
use cp2_machine::{Class, Cycles, Machine};
use proptest::prelude::*;

/// Choices for a random body; 0 where none are left, so that shorter lists are simpler bodies.
struct Choices<'a>(std::slice::Iter<'a, u32>);

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.0.next().map_or(0, |&n| n as usize % limit.max(1))
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 1
    }
}

/// Registers that bodies write themselves or find: r56 .. r63.
const FREE: u64 = (1 << 56) - 1;

struct RandomBody<'a> {
    flow: Dataflow,
    choices: Choices<'a>,
    pointers: Vec<DataPointer>,
    quads: Vec<DataValue>,
    pairs: Vec<DataOperand>,
    /// A quad that the last operation computes and that others read in later iterations.
    carried: DataValue,
}

impl RandomBody<'_> {
    fn quad(&mut self) -> (DataOperand, usize) {
        match self.choices.below(6) {
            0 => (Quad(31), 0),
            1 => (Quad(28), 0),
            2 => (Whole(self.carried), 1 + self.choices.below(3)),
            kind => {
                let number = self.choices.below(self.quads.len());
                let Some(&value) = self.quads.get(number) else {
                    return (Quad(31), 0);
                };
                let distance = if kind == 3 { self.choices.below(4) } else { 0 };
                (Whole(value), distance)
            }
        }
    }

    fn pair(&mut self) -> (DataOperand, usize) {
        match self.choices.below(6) {
            0 => (Pair(62), 0),
            1 => (Pair(58), 0),
            2 => match self.quad() {
                (Whole(value), distance) => {
                    let half = if self.choices.chance(2) { Hi } else { Lo };
                    (half(value), distance)
                }
                _ => (Pair(56), 0),
            },
            kind => {
                let number = self.choices.below(self.pairs.len());
                let Some(&value) = self.pairs.get(number) else {
                    return (Pair(62), 0);
                };
                let distance = if kind == 3 { self.choices.below(4) } else { 0 };
                (value, distance)
            }
        }
    }

    fn op(&mut self, name: &'static str, defs: &[DataOperand], uses: &[(DataOperand, usize)]) {
        let operands: Vec<DataOperand> = uses.iter().map(|&(operand, _)| operand).collect();
        self.flow.op(name, defs, &operands);
        self.set_distances(uses);
    }

    fn set_distances(&mut self, uses: &[(DataOperand, usize)]) {
        for (number, &(operand, distance)) in uses.iter().enumerate() {
            if operand.value().is_some() {
                self.flow.read_earlier(number, distance as u32);
            }
        }
    }

    fn add(&mut self) {
        let pointer = self.pointers[self.choices.below(self.pointers.len())];
        match self.choices.below(10) {
            0 => {
                let value = self.flow.quad();
                let offset = 16 * self.choices.below(4) as i64;
                self.flow.load(Whole(value), pointer, offset);
                self.quads.push(value);
            }
            1 => {
                let value = Whole(self.flow.pair());
                let offset = 16 * self.choices.below(4) as i64;
                self.flow.load(value, pointer, offset);
                self.pairs.push(value);
            }
            2 | 3 => {
                let name = ["add", "mul"][self.choices.below(2)];
                let uses = [self.quad(), self.quad()];
                let value = self.flow.quad();
                self.op(name, &[Whole(value)], &uses);
                self.quads.push(value);
            }
            4 => {
                let uses = [self.pair(), self.pair(), self.pair()];
                let (one, other) = (self.flow.pair(), self.flow.pair());
                self.op("bfly", &[Whole(one), Whole(other)], &uses);
                self.pairs.extend([Whole(one), Whole(other)]);
            }
            5 => {
                let value = self.flow.quad();
                for half in [Lo, Hi] {
                    let uses = [self.pair(), self.pair(), self.pair()];
                    self.op("cmadd", &[half(value)], &uses);
                }
                self.quads.push(value);
            }
            6 => {
                let uses = [self.quad(), self.quad(), self.quad()];
                self.op("madd", &[Quad(28)], &uses);
            }
            7 => {
                let uses = [self.pair()];
                let register = [Pair(58), Pair(56)][self.choices.below(2)];
                self.op("rcp", &[register], &uses);
            }
            8 => {
                let used = self.pair();
                let value = Whole(self.flow.pair());
                self.op("rcp", &[value], &[used]);
                self.pairs.push(value);
            }
            _ => {
                let (used, offset) = if self.choices.chance(2) {
                    (self.quad(), 16 * self.choices.below(4))
                } else {
                    (self.pair(), 16 * self.choices.below(4))
                };
                self.flow.store(used.0, pointer, offset as i64);
                self.set_distances(&[used]);
            }
        }
    }

    /// Orders all accesses to the same places, one of which is a store.
    fn order_accesses(&mut self) {
        let accesses: Vec<_> = (self.flow.ops.iter().enumerate())
            .filter_map(|(number, op)| {
                let access = op.access?;
                let pairs = if op.name.ends_with('q') { 2 } else { 1 };
                Some((
                    number,
                    access.pointer,
                    access.offset / 8,
                    pairs,
                    op.is_load(),
                ))
            })
            .collect();
        for &(one, pointer, first, pairs, load) in &accesses {
            for &(other, through, begin, more, loads) in &accesses {
                if through != pointer || load && loads {
                    continue;
                }
                let step = match self.flow.pointers[pointer].1 {
                    PointerStep::Bytes(bytes) => bytes / 8,
                    _ => 1 << 20,
                };
                for (p, q) in (0..pairs).flat_map(|p| (0..more).map(move |q| (p, q))) {
                    // The other access of the iteration `apart` later goes to the same place.
                    let apart = first + p - begin - q;
                    let same = if step == 0 {
                        i64::from(apart != 0)
                    } else {
                        apart % step
                    };
                    let apart = if step == 0 { 0 } else { apart / step };
                    if same == 0 && (apart > 0 || apart == 0 && one < other) {
                        self.flow.order(one, other, apart as u32);
                    }
                    if same == 0 && step == 0 {
                        self.flow.order(one, other, 1);
                    }
                }
            }
        }
    }
}

fn make(choices: &[u32]) -> (Dataflow, FreeRegisters, Machine, Iterations) {
    let mut choices = Choices(choices.iter());
    let mut machine = Machine::builtin(["vm7", "vm9"][choices.below(2)]).unwrap();
    for class in Class::ALL {
        if choices.chance(2) && class != Class::Control {
            machine.cp2.latency[class] = Cycles(1 + choices.below(9) as u64);
        }
        if choices.chance(5) {
            machine.cp2.interval[class] = Cycles(1 + choices.below(4) as u64);
        }
    }
    let free = match choices.below(3) {
        0 => FREE,
        1 => FREE & 0x0f3b_9ff1_7c6f_e7ff,
        _ => FREE & 0xffff,
    };
    let iterations = match choices.below(3) {
        0 => Iterations::Known(1 + choices.below(30) as u64),
        _ => Iterations::Unknown,
    };
    let mut flow = Dataflow::default();
    let carried = flow.quad();
    let pointers = (0..=choices.below(3) as u8).map(|number| {
        let step = match choices.below(4) {
            0 => PointerStep::Bytes(16),
            1 => PointerStep::Bytes([-16, 0, 32, 48][choices.below(4)]),
            2 => PointerStep::Modulo(4 + number),
            _ => PointerStep::Table {
                step: number,
                table: 4 + number,
                by: 14,
                modulo: choices.chance(2),
            },
        };
        flow.pointer(number, step)
    });
    let pointers = pointers.collect();
    let mut body = RandomBody {
        flow,
        choices,
        pointers,
        quads: Vec::new(),
        pairs: Vec::new(),
        carried,
    };
    for _ in 0..=body.choices.below(16) {
        body.add();
    }
    let uses = [body.quad(), body.quad()];
    body.op("add", &[Whole(carried)], &uses);
    if body.choices.chance(3) {
        body.flow.keep(carried);
    }
    body.order_accesses();
    (body.flow, FreeRegisters::new(free), machine, iterations)
}

/// Number of changes that [`change`] knows.
const CHANGES: usize = 12;

/// Changes one thing of a body or of a machine, at a place; many of them make another schedule.
fn change(body: &mut Dataflow, machine: &mut Machine, (what, place): (usize, usize)) {
    let class = Class::ALL[place % Class::ALL.len()];
    let pointer = place % body.pointers.len();
    let count = body.ops.len();
    let op = &mut body.ops[place % count];
    match what {
        0 => op.access.iter_mut().for_each(|access| access.offset += 64),
        1 => op.immediate = Some(DataImmediate::Number(7)),
        2 => body.pointers[pointer].1 = PointerStep::Bytes(16 * (place % 3) as i64),
        3 => body.pointers[pointer].0 += 8,
        4 => machine.cp2.latency[class].0 += 1,
        5 => machine.cp2.interval[class].0 += 1,
        6 => {
            let first = op.uses.first().and_then(|used| used.value());
            if let (Some(_), Some(own)) = (first, op.distances.first_mut()) {
                *own += 1;
            }
        }
        7 => {
            let fixed = op.uses.iter_mut().filter(|used| used.value().is_none());
            fixed.for_each(|used| {
                *used = if place.is_multiple_of(2) {
                    Pair(58)
                } else {
                    Quad(31)
                }
            });
        }
        8 => body.keep(DataValue(place % body.quads.len())),
        9 => body.begin_with(DataValue(place % body.quads.len())),
        10 => body.order(place % count, (place + 1) % count, 1),
        _ => op.own_latency = Some(1 + (place % 7) as u64),
    }
}

/// Counts of iterations for which a schedule is carried out.
fn counts(iterations: Iterations) -> Vec<u64> {
    match iterations {
        Iterations::Known(count) => vec![count],
        Iterations::Unknown => (1..14).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn schedules_do_what_their_operations_do(choices in prop::collection::vec(any::<u32>(), 0..200)) {
        let (body, free, machine, iterations) = make(&choices);
        let alone = body.ops.iter().all(|op| op.reads().all(|(_, distance)| distance == 0));
        if alone && let (Ok(schedule), _) = body.schedule_straight(&machine, free) {
            let placement = (&schedule.cycles[..], &schedule.steps[..], &schedule.last[..]);
            prop_assert_eq!(check_placement(&body, &machine, schedule.interval, placement), Ok(()));
            prop_assert_eq!(replay(&schedule, 1), define(&body, 1));
            assert_no_wait(&schedule, &machine, 1);
        }
        let request = ScheduleRequest::new(free, iterations);
        let (found, report) = body.schedule_best(&machine, &request);
        prop_assert!(report.contradiction.is_none());
        let Ok(schedule) = found else {
            // Registers or copies are what lacks: some interval has room for all operations. It need not be the last
            // one, where the starts may find no place by bad luck.
            let lacks = |own: &RefusedInterval| own.refusal != IntervalRefusal::Slots;
            prop_assert!(report.refused.iter().any(lacks), "{:?}", report.refused);
            return Ok(());
        };
        prop_assert!(schedule.interval >= report.bound.cycles);
        let placement = (&schedule.cycles[..], &schedule.steps[..], &schedule.last[..]);
        prop_assert_eq!(check_placement(&body, &machine, schedule.interval, placement), Ok(()));
        let bases = schedule.registers.base.iter().zip(&body.quads);
        for (bases, &quad) in bases {
            for &base in bases {
                let width = if quad { 3 } else { 1 };
                prop_assert_eq!(free.mask() >> base & width, width);
            }
        }
        if iterations == Iterations::Unknown {
            prop_assert!(schedule.registers.unroll.is_power_of_two());
        }
        for count in counts(iterations) {
            prop_assert_eq!(replay(&schedule, count as i64), define(&body, count as i64));
            assert_no_wait(&schedule, &machine, count);
        }
    }

    /// A schedule that is known for the shape of a body is the one that a search finds for the body itself.
    #[test]
    fn known_schedules_are_those_of_a_search(
        choices in prop::collection::vec(any::<u32>(), 0..120),
        changes in prop::collection::vec((0..CHANGES, 0usize..1000), 4),
    ) {
        let (body, free, machine, iterations) = make(&choices);
        let request = ScheduleRequest::new(free, iterations);
        let known = ScheduleCache::default();
        for (what, place) in std::iter::once((CHANGES, 0)).chain(changes) {
            let (mut body, mut machine) = (body.clone(), machine.clone());
            if what < CHANGES {
                change(&mut body, &mut machine, (what, place));
            }
            let search = || {
                let (found, report) = body.schedule_best(&machine, &request);
                (found, Some(report))
            };
            let (expected, report) = search();
            let found = known.find_or_search(&body, &machine, &request, search);
            let refused = |report: Option<&ScheduleReport>| report.map(|own| own.refused.clone());
            prop_assert_eq!(refused(found.1.as_ref()), refused(report.as_ref()));
            match (&found.0, expected) {
                (Ok(found), Ok(expected)) => {
                    let found = found.for_body(&body);
                    for count in counts(iterations) {
                        prop_assert_eq!(found.emit(count).text(), expected.emit(count).text());
                    }
                }
                (found, expected) => {
                    let (found, expected) = (found.as_ref().err().copied(), expected.err());
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
