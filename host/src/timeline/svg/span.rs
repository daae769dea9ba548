//! Spans of the picture's rows: stretches of time that do not overlap.

use crate::timeline::{Category, Slice, Timeline, Track};
use cp2_machine::Ticks;

/// Activity of a track in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Slice(Category),
    /// A page kernel has finished a page, and the next one has not been loaded.
    Wait,
}

impl Activity {
    /// All activities, work first.
    pub(super) const ALL: [Self; 9] = [
        Self::Slice(Category::Page),
        Self::Slice(Category::Kernel),
        Self::Slice(Category::Load),
        Self::Slice(Category::Store),
        Self::Slice(Category::Descriptor),
        Self::Slice(Category::Work),
        Self::Slice(Category::Message),
        Self::Slice(Category::Wait),
        Self::Wait,
    ];

    /// Returns true if nothing is done meanwhile.
    pub(super) fn is_idle(self) -> bool {
        matches!(self, Self::Wait | Self::Slice(Category::Wait))
    }

    /// Returns the colour of an activity; colours stay distinct for colour-blind readers (Okabe and Ito).
    pub(super) fn colour(self) -> &'static str {
        match self {
            Self::Slice(Category::Kernel) => "#56b4e9",
            Self::Slice(Category::Page) => "#0072b2",
            Self::Slice(Category::Load) => "#009e73",
            Self::Slice(Category::Store) => "#e69f00",
            Self::Slice(Category::Descriptor) => "#999999",
            Self::Slice(Category::Work) => "#cc79a7",
            Self::Slice(Category::Message) => "#000000",
            Self::Slice(Category::Wait) => "#f0e442",
            Self::Wait => "#d55e00",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Slice(category) => category.name(),
            Self::Wait => "waits for a page",
        }
    }
}

/// A stretch of time on a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeSpan<'a> {
    pub(super) start: Ticks,
    pub(super) end: Ticks,
    pub(super) activity: Activity,
    /// Slice that the span shows; none for a wait.
    pub(super) slice: Option<&'a Slice>,
}

impl<'a> TimeSpan<'a> {
    fn from_slice(slice: &'a Slice) -> Self {
        Self {
            start: slice.start,
            end: slice.end,
            activity: Activity::Slice(slice.category),
            slice: Some(slice),
        }
    }
}

impl Timeline {
    /// Returns the slices of a track whose category is accepted, ordered by their start.
    pub(super) fn sorted_slices(
        &self,
        category: impl Fn(Category) -> bool,
        track: Track,
    ) -> Vec<&Slice> {
        let all = self.slices.iter();
        let mut slices: Vec<&Slice> = all
            .filter(|s| s.track == track && category(s.category))
            .collect();
        slices.sort_by_key(|s| (s.start, s.end));
        slices
    }

    /// Returns the activities of a track in order. A kernel that works through pages is divided into its
    /// pages, the waits before them, and the rest behind the last page.
    pub(super) fn spans(&self, track: Track) -> Vec<TimeSpan<'_>> {
        let others = self.sorted_slices(|c| c != Category::Kernel && c != Category::Page, track);
        let mut spans: Vec<TimeSpan<'_>> = others.into_iter().map(TimeSpan::from_slice).collect();
        let kernels = self.sorted_slices(|c| c == Category::Kernel, track);
        let pages = self.sorted_slices(|c| c == Category::Page, track);
        let mut rest = pages.as_slice();
        for kernel in kernels {
            let before = rest.partition_point(|page| page.start < kernel.start);
            let (lone, behind) = rest.split_at(before);
            spans.extend(lone.iter().map(|page| TimeSpan::from_slice(page)));
            let own = behind.partition_point(|page| page.start < kernel.end);
            let (own, behind) = behind.split_at(own);
            rest = behind;
            let mut at = kernel.start;
            for page in own {
                if page.start > at {
                    spans.push(TimeSpan {
                        start: at,
                        end: page.start,
                        activity: Activity::Wait,
                        slice: None,
                    });
                }
                spans.push(TimeSpan {
                    start: page.start.max(at),
                    ..TimeSpan::from_slice(page)
                });
                at = page.end;
            }
            if kernel.end > at {
                spans.push(TimeSpan {
                    start: at,
                    ..TimeSpan::from_slice(kernel)
                });
            }
        }
        spans.extend(rest.iter().map(|page| TimeSpan::from_slice(page)));
        spans
    }
}
