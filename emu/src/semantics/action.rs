//! Actions of the memory-and-control slot, as engines carry them out.
//!
//! [`action`] resolves an operation into plain data once per program word; the
//! engine then carries it out without looking at the table again.

use crate::semantics::scalar::Binary;
use cp2_asm::isa::{AddressOperand, Inst, Kind, Op, Scalar};

/// The meaning of a memory-and-control operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Nothing.
    Nop,
    /// Compute on shared scalars: [`crate::semantics::scalar::execute`].
    Scalar(ScalarOp),
    /// Access DMEM.
    Memory(MemoryOp),
    /// Move registers from section to section.
    Exchange(ExchangeOp),
    /// Set the mask of lanes that are written.
    Mask(MaskOp),
    /// Compute a shared scalar from the registers of all sections.
    Vote(VoteOp),
    /// Anything that concerns the program counter or events.
    Control(ControlOp),
}

/// A movement of registers between sections: see [`crate::semantics::exchange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeOp {
    /// True if two registers change places between two sections, false if one comes from another section.
    pub mutual: bool,
    /// First pair register of the first operand, which is written.
    pub first: u8,
    /// First pair register of the second operand; written too if the exchange is mutual.
    pub second: u8,
    /// Pair registers of an operand.
    pub count: u8,
    /// Distance between the sections.
    pub distance: u32,
}

/// A change of the mask that says which lanes words write, in each section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskOp {
    /// All lanes of all sections.
    All,
    /// Lanes whose sign bit is set in a quad.
    Signs {
        /// First pair register of the quad.
        first: u8,
    },
}

/// A vote of all sections with the sign bits of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VoteOp {
    /// Scalar that becomes 1 or 0.
    pub x: Scalar,
    /// First pair register of the quad.
    pub first: u8,
    /// True if all sign bits must be set for 1, false if one is enough.
    pub all: bool,
}

impl VoteOp {
    /// Returns the outcome, given all lanes of the quad in all sections.
    #[must_use]
    pub fn outcome(self, mut lanes: impl Iterator<Item = u32>) -> u32 {
        let is_set = |lane: u32| lane >> 31 != 0;
        u32::from(match self.all {
            true => lanes.all(is_set),
            false => lanes.any(is_set),
        })
    }
}

/// An operation on shared scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarOp {
    /// `x = y`.
    Move {
        /// Destination.
        x: Scalar,
        /// Source.
        y: Source,
    },
    /// Upper half of `x` = `value`.
    High {
        /// Destination; its lower half stays.
        x: Scalar,
        /// The new upper half, below 2^16.
        value: u32,
    },
    /// `x = function(y, z)`.
    Binary {
        /// Function to compute.
        function: Binary,
        /// Destination.
        x: Scalar,
        /// First source.
        y: Source,
        /// Second source.
        z: Source,
    },
}

/// Source of a scalar operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A shared scalar.
    Register(Scalar),
    /// An immediate.
    Constant(u32),
}

/// A DMEM access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOp {
    /// Data moved, and its direction.
    pub data: Data,
    /// Bytes accessed in each section concerned.
    pub bytes: u32,
    /// Required alignment in bytes.
    pub align: u32,
    /// Address operand; see [`crate::semantics::address`].
    pub place: AddressOperand,
}

/// One of the two sections beside a section, in the ring of all sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbour {
    /// Section s + 1; section 0 for the last one.
    Next,
    /// Section s - 1; the last one for section 0.
    Previous,
}

impl Neighbour {
    /// Returns the neighbour of a section.
    #[must_use]
    pub const fn of(self, section: usize, sections: usize) -> usize {
        let step = match self {
            Self::Next => 1,
            Self::Previous => sections - 1,
        };
        (section + step) % sections
    }
}

/// Data that a DMEM access moves. Register operands are flat indices of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// From each section's DMEM into registers `first .. first + count`.
    Load {
        /// First pair register.
        first: u8,
        /// Pair registers loaded from consecutive memory.
        count: u8,
    },
    /// From each section's DMEM: one pair into both `first` and `first + 1`.
    LoadDuplicate {
        /// First pair register.
        first: u8,
    },
    /// Registers `first .. first + count` into each section's DMEM.
    Store {
        /// First pair register.
        first: u8,
        /// Pair registers stored to consecutive memory.
        count: u8,
    },
    /// From each section's DMEM: one word into both lanes of `first`.
    LoadWord {
        /// Pair register.
        first: u8,
    },
    /// Lane 0 of `first` into a word of each section's DMEM.
    StoreWord {
        /// Pair register.
        first: u8,
    },
    /// Like `Load`, from any word address.
    LoadUnaligned {
        /// First pair register.
        first: u8,
        /// Pair registers loaded from consecutive memory.
        count: u8,
    },
    /// Like `Load`, from the DMEM of the section beside.
    LoadNeighbour {
        /// First pair register.
        first: u8,
        /// Pair registers loaded from consecutive memory.
        count: u8,
        /// The neighbour.
        from: Neighbour,
    },
    /// Like `Store`, to any word address.
    StoreUnaligned {
        /// First pair register.
        first: u8,
        /// Pair registers stored to consecutive memory.
        count: u8,
    },
    /// From section 0's DMEM into the shared scalars `first .. first + count`:
    /// the access's first `count` words.
    LoadScalars {
        /// First scalar.
        first: Scalar,
        /// 1 or 2.
        count: u8,
    },
}

impl Data {
    /// True if DMEM is written.
    #[must_use]
    pub const fn is_store(self) -> bool {
        match self {
            Self::Store { .. } | Self::StoreWord { .. } | Self::StoreUnaligned { .. } => true,
            Self::Load { .. }
            | Self::LoadDuplicate { .. }
            | Self::LoadWord { .. }
            | Self::LoadUnaligned { .. }
            | Self::LoadNeighbour { .. }
            | Self::LoadScalars { .. } => false,
        }
    }

    /// True if registers of sections are loaded, and nothing else changes.
    #[must_use]
    pub const fn is_section_load(self) -> bool {
        !self.is_store() && !matches!(self, Self::LoadScalars { .. })
    }
}

/// A control operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlOp {
    /// End of the kernel.
    Stop,
    /// Return to the word after the last call.
    Return,
    /// Continue at `target`; a return comes back to the next word.
    Call {
        /// Word address.
        target: u32,
    },
    /// Continue at `target`.
    Jump {
        /// Word address.
        target: u32,
    },
    /// Continue at `target` if `condition` holds for `x`.
    Branch {
        /// When to branch.
        condition: Condition,
        /// The register tested.
        x: Scalar,
        /// Word address.
        target: u32,
    },
    /// Run the next `words` words `count` times; skip them when `count` is 0.
    Loop {
        /// Number of passes, an unsigned value.
        count: Source,
        /// Length of the body.
        words: u32,
    },
    /// Wait until the event's counter is not zero, then decrement it.
    Wait {
        /// Event number.
        event: u32,
    },
    /// Signal the event to the control CPU.
    Signal {
        /// Event number.
        event: u32,
    },
}

/// The condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `x = 0`.
    Zero,
    /// `x` is not 0.
    NotZero,
    /// `x < 0`, signed.
    Negative,
    /// `x >= 0`, signed.
    NotNegative,
}

impl Condition {
    /// True if the branch is taken for the value `x`.
    #[must_use]
    pub const fn holds(self, x: u32) -> bool {
        match self {
            Self::Zero => x == 0,
            Self::NotZero => x != 0,
            Self::Negative => (x as i32) < 0,
            Self::NotNegative => x as i32 >= 0,
        }
    }

    /// Returns the bits that the condition tests, and true if it holds exactly where they are all
    /// zero, false if it holds exactly where they are not.
    #[must_use]
    pub const fn bits(self) -> (u32, bool) {
        const SIGN: u32 = 1 << 31;
        match self {
            Self::Zero => (u32::MAX, true),
            Self::NotZero => (u32::MAX, false),
            Self::Negative => (SIGN, false),
            Self::NotNegative => (SIGN, true),
        }
    }
}

/// Returns the action of `inst`; `None` for an operation of the arithmetic slot.
#[must_use]
pub fn action(inst: &Inst) -> Option<Action> {
    let register = |i: usize| Scalar(inst.r[i]);
    let source = |i: usize| Source::Register(register(i));
    let immediate = Source::Constant(inst.imm as u32);
    let target = u32::from(inst.target);
    let event = inst.imm as u32;
    let binary = |function, z| {
        Action::Scalar(ScalarOp::Binary {
            function,
            x: register(0),
            y: source(1),
            z,
        })
    };
    let branch = |condition| {
        Action::Control(ControlOp::Branch {
            condition,
            x: register(0),
            target,
        })
    };
    let repeat = |count| {
        Action::Control(ControlOp::Loop {
            count,
            words: target,
        })
    };
    let memory = |data| {
        let (bytes, align) = access_size(inst);
        Action::Memory(MemoryOp {
            data,
            bytes,
            align,
            place: inst.place,
        })
    };
    let (pair, quad) = (inst.r[0], inst.r[0].wrapping_mul(2));
    let neighbour = |count: u8, from| {
        memory(Data::LoadNeighbour {
            first: inst.r[0].wrapping_mul(count),
            count,
            from,
        })
    };
    let exchange = |mutual, count: u8| {
        Action::Exchange(ExchangeOp {
            mutual,
            first: inst.r[0].wrapping_mul(count),
            second: inst.r[1].wrapping_mul(count),
            count,
            distance: inst.imm as u32,
        })
    };

    Some(match inst.op {
        Op::MemNop => Action::Nop,
        Op::Stop => Action::Control(ControlOp::Stop),
        Op::Ret => Action::Control(ControlOp::Return),
        Op::Wait => Action::Control(ControlOp::Wait { event }),
        Op::Signal => Action::Control(ControlOp::Signal { event }),

        Op::MovX => Action::Scalar(ScalarOp::Move {
            x: register(0),
            y: source(1),
        }),
        Op::AddX => binary(Binary::Add, source(2)),
        Op::SubX => binary(Binary::Sub, source(2)),
        Op::MulX => binary(Binary::Mul, source(2)),
        Op::AndX => binary(Binary::And, source(2)),
        Op::OrX => binary(Binary::Or, source(2)),
        Op::ShlX => binary(Binary::Shl, immediate),
        Op::ShrX => binary(Binary::Shr, immediate),
        Op::SarX => binary(Binary::Sar, immediate),
        Op::Movi => Action::Scalar(ScalarOp::Move {
            x: register(0),
            y: immediate,
        }),
        Op::Movhi => Action::Scalar(ScalarOp::High {
            x: register(0),
            value: inst.imm as u32 & 0xffff,
        }),
        Op::Addi => binary(Binary::Add, immediate),

        Op::LoopI => repeat(immediate),
        Op::LoopX => repeat(source(0)),
        Op::Jmp => Action::Control(ControlOp::Jump { target }),
        Op::Call => Action::Control(ControlOp::Call { target }),
        Op::Bz => branch(Condition::Zero),
        Op::Bnz => branch(Condition::NotZero),
        Op::Bneg => branch(Condition::Negative),
        Op::Bpos => branch(Condition::NotNegative),

        Op::LdP | Op::LdOwnP => memory(Data::Load {
            first: pair,
            count: 1,
        }),
        Op::LdQ | Op::LdOwnQ => memory(Data::Load {
            first: quad,
            count: 2,
        }),
        Op::LdDup | Op::LdOwnDup => memory(Data::LoadDuplicate { first: quad }),
        Op::StP => memory(Data::Store {
            first: pair,
            count: 1,
        }),
        Op::StQ => memory(Data::Store {
            first: quad,
            count: 2,
        }),
        Op::RotP => exchange(false, 1),
        Op::RotQ => exchange(false, 2),
        Op::XchgP => exchange(true, 1),
        Op::XchgQ => exchange(true, 2),

        Op::Msk => Action::Mask(MaskOp::Signs { first: quad }),
        Op::MskAll => Action::Mask(MaskOp::All),
        Op::AnyX | Op::AllX => Action::Vote(VoteOp {
            x: register(0),
            first: inst.r[1].wrapping_mul(2),
            all: inst.op == Op::AllX,
        }),

        Op::LdW | Op::LdOwnW => memory(Data::LoadWord { first: pair }),
        Op::StW => memory(Data::StoreWord { first: pair }),
        Op::LdPU => memory(Data::LoadUnaligned {
            first: pair,
            count: 1,
        }),
        Op::LdQU => memory(Data::LoadUnaligned {
            first: quad,
            count: 2,
        }),
        Op::LdNextP => neighbour(1, Neighbour::Next),
        Op::LdNextQ => neighbour(2, Neighbour::Next),
        Op::LdPrevP => neighbour(1, Neighbour::Previous),
        Op::LdPrevQ => neighbour(2, Neighbour::Previous),
        Op::StPU => memory(Data::StoreUnaligned {
            first: pair,
            count: 1,
        }),
        Op::StQU => memory(Data::StoreUnaligned {
            first: quad,
            count: 2,
        }),
        Op::LdX => memory(Data::LoadScalars {
            first: register(0),
            count: 1,
        }),
        Op::LdX2 => memory(Data::LoadScalars {
            first: register(0),
            count: 2,
        }),

        // The other slot: see `arith`. Listed, so that a new row must be placed.
        Op::Nop | Op::Lif | Op::Lii | Op::Addsub | Op::User(_) => return None,
        Op::MovP
        | Op::AbsP
        | Op::NegP
        | Op::ConjP
        | Op::SwapP
        | Op::Dup0P
        | Op::Dup1P
        | Op::NotP => return None,
        Op::MovQ
        | Op::AbsQ
        | Op::NegQ
        | Op::ConjQ
        | Op::SwapQ
        | Op::NotQ
        | Op::PermQ
        | Op::ExtQ => return None,
        Op::FtoiP | Op::FtoinP | Op::ItofP | Op::FtoiQ | Op::FtoinQ | Op::ItofQ => return None,
        Op::Rcp | Op::Rsqrt | Op::Exp2 | Op::Log2 | Op::Sin | Op::Cos => return None,
        Op::AddP
        | Op::SubP
        | Op::MulP
        | Op::MinP
        | Op::MaxP
        | Op::CmpeqP
        | Op::CmpltP
        | Op::CmpleP => return None,
        Op::AddQ
        | Op::SubQ
        | Op::MulQ
        | Op::MinQ
        | Op::MaxQ
        | Op::CmpeqQ
        | Op::CmpltQ
        | Op::CmpleQ => return None,
        Op::IaddP | Op::IsubP | Op::ImulP | Op::IminP | Op::ImaxP | Op::IcmpeqP | Op::IcmpltP => {
            return None;
        }
        Op::IaddQ | Op::IsubQ | Op::ImulQ | Op::IminQ | Op::ImaxQ | Op::IcmpeqQ | Op::IcmpltQ => {
            return None;
        }
        Op::AndP | Op::OrP | Op::XorP | Op::AndnP | Op::AndQ | Op::OrQ | Op::XorQ | Op::AndnQ => {
            return None;
        }
        Op::ShlP | Op::ShrP | Op::SarP | Op::ShlQ | Op::ShrQ | Op::SarQ => return None,
        Op::ShliP | Op::ShriP | Op::SariP | Op::ShliQ | Op::ShriQ | Op::SariQ => return None,
        Op::TrnloP | Op::TrnhiP | Op::ExtP | Op::TrnloQ | Op::TrnhiQ => return None,
        Op::MaddP | Op::MsubP | Op::NmaddP | Op::NmsubP | Op::SelP => return None,
        Op::MaddQ | Op::MsubQ | Op::NmaddQ | Op::NmsubQ | Op::SelQ => return None,
        Op::CmulP | Op::CmulcP | Op::CmaddP | Op::CmaddcP | Op::CmsubP | Op::CmsubcP => {
            return None;
        }
        Op::Bfly | Op::BflyI | Op::BflyN | Op::BflyC | Op::BflyCI | Op::BflyCN => return None,
        Op::BflyY | Op::BflyYI | Op::BflyYN | Op::BflyYC => return None,
        Op::DnegP
        | Op::DabsP
        | Op::DtofP
        | Op::FtodP
        | Op::DaddP
        | Op::DsubP
        | Op::DmulP
        | Op::DminP
        | Op::DmaxP
        | Op::DcmpeqP
        | Op::DcmpltP
        | Op::DcmpleP => return None,
        Op::DmaddP | Op::DmsubP | Op::DnmaddP | Op::DnmsubP => return None,
        Op::DnegQ
        | Op::DabsQ
        | Op::DtofQ
        | Op::FtodQ
        | Op::DaddQ
        | Op::DsubQ
        | Op::DmulQ
        | Op::DminQ
        | Op::DmaxQ
        | Op::DcmpeqQ
        | Op::DcmpltQ
        | Op::DcmpleQ => return None,
        Op::DmaddQ | Op::DmsubQ | Op::DnmaddQ | Op::DnmsubQ => return None,
        Op::Dcmul
        | Op::Dcmulc
        | Op::Dcmadd
        | Op::Dcmsub
        | Op::Dbfly
        | Op::DbflyC
        | Op::DbflyI
        | Op::DbflyCI
        | Op::DbflyN
        | Op::DbflyCN => return None,
        Op::AddeP | Op::MuleP | Op::AddeQ | Op::MuleQ => return None,
    })
}

/// Returns the bytes that the row's address operand accesses, and their alignment; 0 and 1 where it has none.
fn access_size(inst: &Inst) -> (u32, u32) {
    let operands = inst.row().form.operands();
    let size = operands.iter().find_map(|o| match o.kind {
        Kind::Mem { bytes, align } => Some((bytes, align)),
        Kind::OwnMem { bytes } => Some((bytes, bytes)),
        _ => None,
    });
    size.unwrap_or((0, 1))
}
