//! Where in the Python program something happened: frames and stacks, each kept once.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

/// Where a frame is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Address of the code object.
    pub code: usize,
    /// Offset of the instruction in bytes. One call may be made by several instructions.
    pub instruction: i32,
}

/// A line of Python code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// Address of the code object.
    pub code: usize,
    /// Number of the line in its file.
    pub number: i32,
}

/// What this module asks of the interpreter.
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// Calls `visit` with each frame of this thread, the innermost first, until it returns false.
    /// Does nothing where this thread may not use the interpreter now.
    pub walk: fn(visit: &mut dyn FnMut(Frame) -> bool),
    /// Keeps a code object alive, and tells of it. Called within `walk`.
    pub adopt: fn(code: usize) -> Code,
    /// The number of the line that a frame is in. Called within `walk`.
    pub line: fn(frame: Frame) -> i32,
    /// Ends what `adopt` began; this thread may use the interpreter.
    pub release: fn(code: usize),
}

/// What is known of a code object.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Whether it is a library's, which is no answer to where something was made.
    pub library: bool,
    /// Name of its file.
    pub file: String,
    /// Name of the function.
    pub function: String,
}

/// Where something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Where {
    /// The innermost frame that is no library's, or the innermost of all.
    pub site: Option<u32>,
    /// The frames from the innermost one out: all of them, or up to the site.
    pub stack: Option<u32>,
}

/// Different whole stacks that are kept of each site, unless all are.
const WHOLE_STACKS: u32 = 32;
/// Frames that are looked at in search of them at each site: some 15 ms.
const MOST_LOOKED_AT: u32 = 1 << 16;
/// Frames that are kept at each end of a stack; those between are counted.
const EDGE: usize = 50;

/// The frames of a call, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    /// Lines of the frames.
    pub lines: Vec<u32>,
    /// How many more there are after the first [`EDGE`] of them.
    pub left_out: usize,
}

/// Numbers values in the order in which they are first seen.
#[derive(Debug)]
struct Numbered<T> {
    numbers: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// All places that were seen.
#[derive(Debug, Default)]
pub struct Sites {
    lines: Numbered<Line>,
    /// The number of the line of each frame that was seen.
    frames: HashMap<Frame, u32>,
    stacks: Numbered<Stack>,
    /// The code objects that are kept alive.
    codes: HashMap<usize, Code>,
    /// What is known of each site's whole stacks.
    whole: HashMap<u32, Whole>,
}

/// The whole stacks of a site.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    /// Different ones that are kept.
    kept: u32,
    /// Frames that were looked at.
    looked_at: u32,
}

impl Whole {
    /// Whether there may be more to keep.
    fn goes_on(self) -> bool {
        self.kept < WHOLE_STACKS && self.looked_at < MOST_LOOKED_AT
    }
}

impl Sites {
    /// Where this thread is. `every`: with the whole stack in any case.
    pub fn here(&mut self, interpreter: Interpreter, every: bool) -> Where {
        let mut inner = Vec::new();
        let mut outer = VecDeque::new();
        let mut left_out = 0;
        let mut site = None;
        let mut whole = true;
        (interpreter.walk)(&mut |frame| {
            let adopt = || (interpreter.adopt)(frame.code);
            let library = self.codes.entry(frame.code).or_insert_with(adopt).library;
            let number = *self.frames.entry(frame).or_insert_with(|| {
                let number = (interpreter.line)(frame);
                self.lines.number(Line { code: frame.code, number })
            });
            if inner.len() < EDGE {
                inner.push(number);
            } else {
                if outer.len() == EDGE {
                    outer.pop_front();
                    left_out += 1;
                }
                outer.push_back(number);
            }
            if site.is_none() && !library {
                site = Some(number);
                whole = every || self.whole.get(&number).is_none_or(|known| known.goes_on());
            }
            site.is_none() || whole
        });
        let site = site.or(inner.first().copied());
        let depth = (inner.len() + outer.len() + left_out) as u32;
        let before = self.stacks.values.len();
        inner.extend(outer);
        let stack =
            (!inner.is_empty()).then(|| self.stacks.number(Stack { lines: inner, left_out }));
        if let Some(site) = site.filter(|_| whole) {
            let known = self.whole.entry(site).or_default();
            known.kept += (self.stacks.values.len() - before) as u32;
            known.looked_at = known.looked_at.saturating_add(depth);
        }
        Where { site, stack }
    }

    /// All lines; stacks and sites are indices into it.
    pub fn lines(&self) -> &[Line] {
        &self.lines.values
    }

    /// The stack of a place.
    pub fn stack(&self, at: Where) -> Stack {
        at.stack.map_or_else(Stack::default, |stack| self.stacks.values[stack as usize].clone())
    }

    /// A line in words: `file:number in function`.
    pub fn text(&self, line: u32) -> Option<String> {
        let Line { code, number } = self.lines.values.get(line as usize)?;
        let Code { file, function, .. } = self.codes.get(code)?;
        Some(format!("{file}:{number} in {function}"))
    }

    /// Lets all code objects go.
    pub fn release(self, interpreter: Interpreter) {
        for code in self.codes.into_keys() {
            (interpreter.release)(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    thread_local! {
        static STACK: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
        static KEPT: Cell<i32> = const { Cell::new(0) };
    }

    /// An interpreter in which code below 100 is a library's.
    const FAKE: Interpreter = Interpreter {
        walk: |visit| {
            STACK.with_borrow(|stack| {
                for frame in stack {
                    if !visit(*frame) {
                        break;
                    }
                }
            });
        },
        adopt: |code| {
            KEPT.set(KEPT.get() + 1);
            Code { library: code < 100, file: "main.py".into(), function: format!("f{code}") }
        },
        line: |frame| frame.instruction / 10,
        release: |_| KEPT.set(KEPT.get() - 1),
    };

    fn enter(codes: &[usize]) {
        let frames = codes.iter().map(|&code| Frame { code, instruction: 2 });
        STACK.with_borrow_mut(|stack| *stack = frames.collect());
    }

    #[test]
    fn a_site_is_the_first_frame_outside_libraries() {
        let mut sites = Sites::default();
        enter(&[1, 2, 300, 400]);
        let at = sites.here(FAKE, false);
        let site = at.site.unwrap() as usize;
        assert_eq!(sites.lines()[site].code, 300);
        assert_eq!(sites.stack(at).lines.len(), 4);
        enter(&[1, 2]);
        let at = sites.here(FAKE, false);
        assert_eq!(sites.lines()[at.site.unwrap() as usize].code, 1);
        sites.release(FAKE);
        assert_eq!(KEPT.get(), 0);
    }

    #[test]
    fn whole_stacks_of_so_many_callers_of_a_site_are_kept_or_all() {
        let mut sites = Sites::default();
        let mut lengths = |every| -> Vec<usize> {
            (0..3 * WHOLE_STACKS as usize)
                .map(|outer| {
                    // Each calls twice.
                    enter(&[1, 300, 500 + outer / 2]);
                    let at = sites.here(FAKE, every);
                    sites.stack(at).lines.len()
                })
                .collect()
        };
        let found = lengths(false);
        let known = 2 * WHOLE_STACKS as usize - 1;
        assert_eq!(found[..known], vec![3; known]);
        assert_eq!(found[known..], vec![2; found.len() - known]);
        assert_eq!(lengths(true), vec![3; 3 * WHOLE_STACKS as usize]);
        sites.release(FAKE);
    }

    #[test]
    fn a_site_that_is_busy_costs_little_in_the_end() {
        let mut sites = Sites::default();
        let codes: Vec<usize> = (300..600).collect();
        enter(&codes);
        let deep = MOST_LOOKED_AT.div_ceil(300) as usize;
        let mut whole = || {
            let at = sites.here(FAKE, false);
            sites.stack(at).lines.len() == 2 * EDGE
        };
        assert!((0..deep).all(|_| whole()));
        assert!(!whole());
        sites.release(FAKE);
    }

    #[test]
    fn deep_stacks_keep_both_ends_and_count_what_is_between() {
        let mut sites = Sites::default();
        for depth in [2 * EDGE, 2 * EDGE + 1, 1000] {
            let codes: Vec<usize> = (300..300 + depth).collect();
            enter(&codes);
            let at = sites.here(FAKE, true);
            let stack = sites.stack(at);
            let mut kept: Vec<usize> =
                stack.lines.iter().map(|line| sites.lines()[*line as usize].code).collect();
            assert_eq!(stack.left_out, depth - 2 * EDGE);
            let ends = kept.split_off(EDGE);
            assert_eq!(kept, codes[..EDGE]);
            assert_eq!(ends, codes[depth - EDGE..]);
        }
        sites.release(FAKE);
    }

    #[test]
    fn instructions_of_one_line_are_one_site() {
        let mut sites = Sites::default();
        let mut site = |instruction| {
            STACK.with_borrow_mut(|stack| *stack = vec![Frame { code: 300, instruction }]);
            sites.here(FAKE, false).site
        };
        assert_eq!(site(21), site(29));
        assert_ne!(site(21), site(30));
        let last = site(47).unwrap();
        assert_eq!(sites.text(last).as_deref(), Some("main.py:4 in f300"));
        sites.release(FAKE);
    }

    #[test]
    fn without_an_interpreter_nothing_is_known() {
        enter(&[]);
        assert_eq!(Sites::default().here(FAKE, true), Where::default());
    }
}
