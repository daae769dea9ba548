//! The expression of a row as operations on single lanes, each computed once.

use super::parse::{Expression, LaneConstant, LaneIndex, Statement, unsayable_word};
use super::primitive::ArgumentKind;
use super::{Primitive, RowFlaw, RowForm};
use crate::Class;
use std::collections::HashMap;

/// Most operations, constants and operands' lanes of a row.
const MOST: usize = 64;
/// Most of them before those are left out that no result depends on.
const WORKING: usize = 1024;
/// Most operations on bits in a chain, without a latency of the row's own.
const BIT_CHAIN: u32 = 4;

/// A value of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneNode {
    /// A lane of an operand.
    Operand {
        /// Place among the operands of the form.
        operand: u8,
        /// The lane.
        lane: u8,
    },
    /// Bits of a constant.
    Constant(u32),
    /// A primitive of earlier values; arguments that it does not take are 0.
    Call {
        /// The primitive.
        primitive: Primitive,
        /// Places of the arguments.
        arguments: [u16; 3],
    },
}

/// Everything that a row computes: values in order, each from earlier ones, and the values that are its results.
/// A value that occurs several times in the expression is computed once, and none that no result depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneFlow {
    nodes: Vec<LaneNode>,
    results: Vec<[u16; 4]>,
}

impl LaneFlow {
    /// Returns the values, in an order in which they can be computed.
    #[must_use]
    pub fn nodes(&self) -> &[LaneNode] {
        &self.nodes
    }

    /// Returns the places of the values that each result consists of, lane by lane; a pair has the first two.
    #[must_use]
    pub fn results(&self) -> &[[u16; 4]] {
        &self.results
    }

    fn primitives(&self) -> impl Iterator<Item = Primitive> {
        self.nodes.iter().filter_map(|node| match node {
            LaneNode::Call { primitive, .. } => Some(*primitive),
            _ => None,
        })
    }

    /// Returns the multiplies.
    #[must_use]
    pub fn muls(&self) -> u32 {
        self.primitives().map(Primitive::muls).sum()
    }

    /// Returns the adds.
    #[must_use]
    pub fn adds(&self) -> u32 {
        self.primitives().map(Primitive::adds).sum()
    }

    /// Returns the primitives of all kinds.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.primitives().count()
    }

    /// Returns the most stages of arithmetic, and the most operations on bits, that a result passes one behind
    /// the other.
    pub(super) fn chain(&self) -> (u32, u32) {
        let mut chains: Vec<(u32, u32)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let chain = match node {
                LaneNode::Call {
                    primitive,
                    arguments,
                } => {
                    let count = primitive.arguments().len();
                    let before = arguments[..count].iter().map(|&at| chains[usize::from(at)]);
                    let (stages, bits) = before.fold((0, 0), |max: (u32, u32), one| {
                        (max.0.max(one.0), max.1.max(one.1))
                    });
                    match primitive.stages() {
                        0 => (stages, bits + 1),
                        more => (stages + more, bits),
                    }
                }
                _ => (0, 0),
            };
            chains.push(chain);
        }
        let of = |get: fn(&(u32, u32)) -> u32| chains.iter().map(get).max().unwrap_or(0);
        (of(|c| c.0), of(|c| c.1))
    }

    /// Checks that an operation of a class with its own latency computes this.
    pub(super) fn check_class(&self, class: Class) -> Result<(), RowFlaw> {
        let stages = match class {
            Class::Add => 1,
            Class::Madd => 2,
            Class::Butterfly => 3,
            _ => 0,
        };
        let (found, bits) = self.chain();
        let what = if found > stages {
            format!("a chain of {found} stages of arithmetic")
        } else if bits > BIT_CHAIN {
            format!("a chain of {bits} operations on bits")
        } else {
            return Ok(());
        };
        Err(RowFlaw::Class { what, class })
    }
}

/// A value while expressions are read: constants know what they were written as.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    Node(LaneNode),
    Float(u32),
    Integer(u32),
}

/// Reads statements to values.
struct Builder {
    form: RowForm,
    values: Vec<Value>,
    places: HashMap<Value, u16>,
    /// Values of the names given so far, by lane, and whether one was used.
    names: Vec<(String, [u16; 4], bool)>,
    results: Vec<[Option<u16>; 4]>,
}

/// Returns the values of statements.
pub(super) fn build(form: RowForm, statements: &[Statement]) -> Result<LaneFlow, RowFlaw> {
    let mut builder = Builder {
        form,
        values: Vec::new(),
        places: HashMap::new(),
        names: Vec::new(),
        results: vec![[None; 4]; form.results()],
    };
    for statement in statements {
        builder.statement(statement)?;
    }
    builder.finish()
}

impl Builder {
    fn place(&mut self, value: Value) -> Result<u16, RowFlaw> {
        if let Some(&place) = self.places.get(&value) {
            return Ok(place);
        }
        let place = self.values.len();
        if place >= WORKING {
            return Err(too_long());
        }
        let place = place as u16;
        self.values.push(value);
        self.places.insert(value, place);
        Ok(place)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), RowFlaw> {
        let (name, lanes) = (&statement.name, self.form.lanes());
        let operand = self.form.operands().iter().position(|one| one == name);
        let Some(result) = operand.filter(|&at| at < self.form.results()) else {
            return self.give_name(statement, operand.is_some());
        };
        let own = match statement.lane {
            Some(LaneIndex::Own) => 0..lanes,
            Some(LaneIndex::Fixed(lane)) if (lane as usize) < lanes => {
                lane as usize..lane as usize + 1
            }
            Some(LaneIndex::Fixed(lane)) => return Err(self.lane_flaw(name, lane)),
            Some(LaneIndex::OwnXor(_)) | None => {
                let expected = format!("{name}[i] or {name}[N]");
                let found = statement
                    .lane
                    .map_or(name.clone(), |lane| format!("{name}[{lane}]"));
                return Err(RowFlaw::Field {
                    key: "lanes",
                    found: format!("`{found} = ..`"),
                    expected,
                });
            }
        };
        for lane in own {
            let value = self.expression(&statement.value, lane)?;
            if self.results[result][lane].replace(value).is_some() {
                let name = format!("{name}[{lane}]");
                return Err(RowFlaw::Twice { name });
            }
        }
        Ok(())
    }

    fn give_name(&mut self, statement: &Statement, is_operand: bool) -> Result<(), RowFlaw> {
        let name = &statement.name;
        if is_operand {
            let what = "an operand is read and never changed, a row keeps no state";
            let name = format!("{name} = ..");
            return Err(RowFlaw::Unsayable { name, what });
        }
        if name == "i" || Primitive::by_name(name).is_some() || statement.lane.is_some() {
            return Err(match statement.lane {
                Some(_) => RowFlaw::UnknownName {
                    name: name.clone(),
                    form: self.form,
                    known: self.form.operands()[..self.form.results()]
                        .iter()
                        .map(|one| format!("{one}[i]"))
                        .collect(),
                },
                None => RowFlaw::Field {
                    key: "lanes",
                    found: format!("`{name} = ..`"),
                    expected: "a name that is neither the lane nor a primitive".to_owned(),
                },
            });
        }
        if self.names.iter().any(|one| one.0 == *name) {
            return Err(RowFlaw::Twice { name: name.clone() });
        }
        let mut values = [0; 4];
        for (lane, value) in values.iter_mut().enumerate().take(self.form.lanes()) {
            *value = self.expression(&statement.value, lane)?;
        }
        self.names.push((name.clone(), values, false));
        Ok(())
    }

    fn lane_flaw(&self, name: &str, lane: u32) -> RowFlaw {
        RowFlaw::Lane {
            name: name.to_owned(),
            lane,
            form: self.form,
        }
    }

    fn expression(&mut self, expression: &Expression, own: usize) -> Result<u16, RowFlaw> {
        match expression {
            Expression::Constant(LaneConstant::Float(value)) => {
                self.place(Value::Float(value.to_bits()))
            }
            Expression::Constant(LaneConstant::Integer(value)) => {
                self.place(Value::Integer(*value as u32))
            }
            Expression::Name(name) => self.lane_of(name, None, own),
            Expression::Indexed(name, lane) => self.lane_of(name, Some(*lane), own),
            Expression::Call(name, arguments) => {
                let Some(primitive) = Primitive::by_name(name) else {
                    let name = name.clone();
                    return Err(match unsayable_word(&name) {
                        Some(what) => RowFlaw::Unsayable { name, what },
                        None => RowFlaw::UnknownPrimitive { name },
                    });
                };
                let kinds = primitive.arguments();
                if kinds.len() != arguments.len() {
                    return Err(RowFlaw::Arguments {
                        name: primitive.name(),
                        found: arguments.len(),
                        expected: kinds.len(),
                    });
                }
                let mut places = [0; 3];
                for ((place, argument), &kind) in places.iter_mut().zip(arguments).zip(kinds) {
                    *place = self.expression(argument, own)?;
                    self.check_constant(*place, primitive, kind)?;
                }
                self.place(Value::Node(LaneNode::Call {
                    primitive,
                    arguments: places,
                }))
            }
        }
    }

    fn check_constant(
        &self,
        place: u16,
        primitive: Primitive,
        kind: ArgumentKind,
    ) -> Result<(), RowFlaw> {
        let (found, expected) = match (self.values[usize::from(place)], kind) {
            (Value::Integer(bits), ArgumentKind::Float) => (
                LaneConstant::Integer((bits as i32).into()),
                "a float such as 2.0",
            ),
            (Value::Float(bits), ArgumentKind::Integer) => (
                LaneConstant::Float(f32::from_bits(bits)),
                "an integer such as 2",
            ),
            _ => return Ok(()),
        };
        Err(RowFlaw::Constant {
            name: primitive.name(),
            found: found.to_string(),
            expected,
        })
    }

    /// Returns the value of a name given before, or of a lane of an operand.
    fn lane_of(&mut self, name: &str, lane: Option<LaneIndex>, own: usize) -> Result<u16, RowFlaw> {
        let (form, lanes) = (self.form, self.form.lanes());
        let at = match lane.unwrap_or(LaneIndex::Own) {
            LaneIndex::Own => own,
            LaneIndex::OwnXor(with) if (with as usize) < lanes => own ^ with as usize,
            LaneIndex::Fixed(lane) if (lane as usize) < lanes => lane as usize,
            LaneIndex::OwnXor(lane) | LaneIndex::Fixed(lane) => {
                return Err(self.lane_flaw(name, lane));
            }
        };
        if let Some(given) = self.names.iter_mut().find(|one| one.0 == name) {
            given.2 = true;
            return Ok(given.1[at]);
        }
        match form.operands().iter().position(|one| *one == name) {
            Some(operand) if operand < form.results() => {
                let what = "a result is written and never read, a row keeps no state";
                let name = name.to_owned();
                Err(RowFlaw::Unsayable { name, what })
            }
            Some(operand) if lane.is_some() => self.place(Value::Node(LaneNode::Operand {
                operand: operand as u8,
                lane: at as u8,
            })),
            Some(_) => Err(RowFlaw::Field {
                key: "lanes",
                found: format!("`{name}` without a lane"),
                expected: format!("{name}[i]"),
            }),
            None => {
                let operands = form.operands()[form.results()..].iter();
                let known = operands.map(|one| format!("{one}[i]"));
                let name = name.to_owned();
                Err(match unsayable_word(&name) {
                    Some(what) => RowFlaw::Unsayable { name, what },
                    None => RowFlaw::UnknownName {
                        name,
                        form,
                        known: known
                            .chain(self.names.iter().map(|one| one.0.clone()))
                            .collect(),
                    },
                })
            }
        }
    }

    /// Leaves out what no result depends on.
    fn finish(self) -> Result<LaneFlow, RowFlaw> {
        let (form, lanes) = (self.form, self.form.lanes());
        let mut results = Vec::new();
        for (name, given) in form.operands().iter().zip(&self.results) {
            let mut places = [0; 4];
            for (lane, place) in places.iter_mut().enumerate().take(lanes) {
                *place = given[lane].ok_or_else(|| RowFlaw::Missing {
                    name: format!("{name}[{lane}]"),
                })?;
            }
            results.push(places);
        }
        if let Some(unused) = self.names.iter().find(|one| !one.2) {
            return Err(RowFlaw::Unused {
                name: unused.0.clone(),
            });
        }
        let mut needed = vec![false; self.values.len()];
        for place in results.iter().flat_map(|places| &places[..lanes]) {
            needed[usize::from(*place)] = true;
        }
        // Arguments come before what is computed from them.
        for at in (0..self.values.len()).rev() {
            if let (
                true,
                Value::Node(LaneNode::Call {
                    primitive,
                    arguments,
                }),
            ) = (needed[at], self.values[at])
            {
                for argument in &arguments[..primitive.arguments().len()] {
                    needed[usize::from(*argument)] = true;
                }
            }
        }
        let mut moved = vec![0; self.values.len()];
        let mut nodes = Vec::new();
        for (at, value) in self.values.iter().enumerate().filter(|(at, _)| needed[*at]) {
            moved[at] = nodes.len() as u16;
            nodes.push(match *value {
                Value::Float(bits) | Value::Integer(bits) => LaneNode::Constant(bits),
                Value::Node(LaneNode::Call {
                    primitive,
                    arguments,
                }) => {
                    let mut places = [0; 3];
                    for (to, from) in places
                        .iter_mut()
                        .zip(&arguments)
                        .take(primitive.arguments().len())
                    {
                        *to = moved[usize::from(*from)];
                    }
                    LaneNode::Call {
                        primitive,
                        arguments: places,
                    }
                }
                Value::Node(node) => node,
            });
        }
        if nodes.len() > MOST {
            return Err(too_long());
        }
        for (operand, name) in form.operands().iter().enumerate().skip(form.results()) {
            let reads = |node: &LaneNode| matches!(node, LaneNode::Operand { operand: read, .. } if usize::from(*read) == operand);
            if !nodes.iter().any(reads) {
                let name = (*name).to_owned();
                return Err(RowFlaw::Unused { name });
            }
        }
        let results = results
            .iter()
            .map(|places| places.map(|at| moved[usize::from(at)]));
        Ok(LaneFlow {
            results: results.collect(),
            nodes,
        })
    }
}

fn too_long() -> RowFlaw {
    RowFlaw::TooLong {
        what: "operations, constants and lanes of operands",
        most: MOST,
    }
}
