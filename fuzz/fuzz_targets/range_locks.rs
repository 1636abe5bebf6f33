//! The range locks under random schedules: three threads that take, hold and release cells of three
//! locks, one step at a time, against a model that knows per cell who reads and who writes.
//!
//! The threads are real, so that waiting is: but only one moves at a time. The wait hook tells the
//! schedule when a thread is in the queue, and the model says whose turn a release makes it. So a
//! schedule is the same each time it runs. Where a release lets several threads race for further
//! locks nothing is predicted any more: the rest is released in whatever order, the cells check
//! themselves, and a watchdog sees to it that all come to an end. Between any two instructions the
//! protocols are explored by loom (`make test-loom`); forks are real too, one an input at most.
#![no_main]

use arbitrary::Arbitrary;
use denizen::lock::{
    Borrow, Guard, LockError, Request, SegmentLock, acquire_all, set_wait_hook, try_acquire_all,
};
use libfuzzer_sys::fuzz_target;
use std::{
    cell::RefCell,
    io::{Error, ErrorKind},
    ops::Range,
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

const LOCKS: usize = 3;
const WORKERS: usize = 3;
const CELLS: usize = 16;
/// A schedule takes microseconds.
const WATCHDOG: Duration = Duration::from_secs(30);

/// In the order of their addresses.
static ALL: LazyLock<[SegmentLock; LOCKS]> =
    LazyLock::new(|| std::array::from_fn(|_| SegmentLock::new()));

/// Who is in each cell: how many readers, or one writer.
static INSIDE: [[AtomicU32; CELLS]; LOCKS] =
    [const { [const { AtomicU32::new(0) }; CELLS] }; LOCKS];
const WRITER: u32 = 1 << 16;

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Cells {
    lock: u8,
    start: u8,
    length: u8,
    write: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    /// Takes cells of one lock.
    Take {
        worker: u8,
        cells: Cells,
        wait: bool,
    },
    /// Takes cells of several locks, perhaps of the same twice.
    TakeAll {
        worker: u8,
        cells: [Cells; 3],
        wait: bool,
    },
    Release {
        worker: u8,
        which: u8,
    },
    Lend {
        cells: Cells,
    },
    GiveBack {
        which: u8,
        raw: bool,
    },
    /// Seldom: a fork takes as long as a thousand other steps.
    Fork {
        seldom: u8,
    },
}

/// What one operation wants of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    lock: usize,
    start: usize,
    end: usize,
    write: bool,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start..self.end
    }

    fn conflicts(&self, other: &Span) -> bool {
        let shares = self.range().any(|cell| other.range().contains(&cell));
        self.lock == other.lock && shares && (self.write || other.write)
    }
}

impl Cells {
    /// Nothing, for an empty range.
    fn span(self) -> Option<Span> {
        let start = usize::from(self.start) % CELLS;
        let end = (start + usize::from(self.length) % 9).min(CELLS);
        let lock = usize::from(self.lock) % LOCKS;
        (start < end).then_some(Span { lock, start, end, write: self.write })
    }
}

enum Command {
    Take { spans: Vec<Span>, wait: bool },
    Release { which: usize },
}

#[derive(Debug, PartialEq, Eq)]
enum Event {
    /// It is in the queue of a lock, and blocks.
    Waiting,
    Taken(Result<(), LockError>),
    Released,
}

type Report = (usize, Event);

thread_local! {
    static ME: RefCell<Option<(usize, Sender<Report>)>> = const { RefCell::new(None) };
}

fn report(event: Event) {
    ME.with_borrow(|me| {
        let (number, sender) = me.as_ref().expect("only workers wait");
        sender.send((*number, event)).expect("the schedule listens");
    });
}

fn wait_hook(wait: &mut dyn FnMut()) {
    report(Event::Waiting);
    wait();
}

/// What a worker holds at once.
struct Holding {
    guard: Option<Guard<'static, 'static>>,
    requests: *mut [Request<'static>],
    spans: Vec<Span>,
}

impl Holding {
    fn enter(&self) {
        for span in &self.spans {
            for cell in &INSIDE[span.lock][span.range()] {
                let before = cell.fetch_add(if span.write { WRITER } else { 1 }, SeqCst);
                let allowed = if span.write { before == 0 } else { before < WRITER };
                assert!(allowed, "two that exclude each other are inside");
            }
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        for span in self.spans.iter().filter(|_| self.guard.is_some()) {
            for cell in &INSIDE[span.lock][span.range()] {
                cell.fetch_sub(if span.write { WRITER } else { 1 }, SeqCst);
            }
        }
        self.guard = None;
        // SAFETY: from a box; the guard that used the requests is gone.
        drop(unsafe { Box::from_raw(self.requests) });
    }
}

fn take(spans: Vec<Span>, merged: Vec<Span>, wait: bool) -> Result<Holding, LockError> {
    let requests: Vec<_> =
        spans.iter().map(|span| Request::new(&ALL[span.lock], span.range(), span.write)).collect();
    let requests = Box::into_raw(requests.into_boxed_slice());
    // SAFETY: freed only once the guard is gone.
    let lent = unsafe { &mut *requests };
    let outcome = if wait { acquire_all(lent) } else { try_acquire_all(lent) };
    let (guard, error) = match outcome {
        Ok(guard) => (Some(guard), None),
        Err(error) => (None, Some(error)),
    };
    let holding = Holding { guard, requests, spans: merged };
    match error {
        None => {
            holding.enter();
            Ok(holding)
        }
        Some(error) => Err(error),
    }
}

fn work(number: usize, commands: &Receiver<Command>, sender: Sender<Report>) {
    ME.set(Some((number, sender)));
    let mut holdings: Vec<Holding> = Vec::new();
    for command in commands {
        report(match command {
            Command::Take { spans, wait } => {
                let merged = merge(&spans);
                Event::Taken(take(spans, merged, wait).map(|holding| holdings.push(holding)))
            }
            Command::Release { which } => {
                drop(holdings.remove(which));
                Event::Released
            }
        });
    }
}

/// What is asked of each lock, in their order: the hull, to be written if any of it is.
fn merge(spans: &[Span]) -> Vec<Span> {
    let of_lock = |lock| {
        spans.iter().filter(|span| span.lock == lock).copied().reduce(|one, other| Span {
            lock,
            start: one.start.min(other.start),
            end: one.end.max(other.end),
            write: one.write || other.write,
        })
    };
    (0..LOCKS).filter_map(of_lock).collect()
}

/// The threads, which serve one input after the other.
struct Crew {
    commands: Vec<Sender<Command>>,
    reports: Receiver<Report>,
}

impl Crew {
    fn new() -> Crew {
        assert!(set_wait_hook(wait_hook));
        let (sender, reports) = channel();
        let commands = (0..WORKERS).map(|number| {
            let (commands, receiver) = channel();
            let sender = sender.clone();
            thread::spawn(move || work(number, &receiver, sender));
            commands
        });
        Crew { commands: commands.collect(), reports }
    }

    fn send(&self, worker: usize, command: Command) {
        self.commands[worker].send(command).expect("the worker lives");
    }

    fn next(&self) -> Report {
        match self.reports.recv_timeout(WATCHDOG) {
            Ok(report) => report,
            Err(RecvTimeoutError::Timeout) => panic!("nobody moves: a deadlock, or a lost wakeup"),
            Err(RecvTimeoutError::Disconnected) => panic!("the workers are gone"),
        }
    }

    fn expect(&self, worker: usize, event: Event) {
        assert_eq!(self.next(), (worker, event));
    }
}

/// What one worker does.
#[derive(Default)]
struct Worker {
    /// Each guard, as one span a lock.
    guards: Vec<Vec<Span>>,
    /// What it got so far, and waits for, in order.
    taken: Vec<Span>,
    wanted: Vec<Span>,
}

struct Model<'c> {
    crew: &'c Crew,
    workers: [Worker; WORKERS],
    /// Who waits for each lock, in order of arrival.
    queues: [Vec<usize>; LOCKS],
    borrows: Vec<(Span, Borrow<'static>)>,
    forked: bool,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Granted,
    Refused(LockError),
    Waits,
}

impl Model<'_> {
    fn holders(&self) -> impl Iterator<Item = &Span> {
        self.workers.iter().flat_map(|worker| worker.guards.iter().flatten().chain(&worker.taken))
    }

    fn awaited(&self, lock: usize) -> impl Iterator<Item = &Span> {
        self.queues[lock].iter().map(|waiter| &self.workers[*waiter].wanted[0])
    }

    fn is_borrowed(&self, span: &Span) -> bool {
        self.borrows.iter().any(|(lent, _)| lent.conflicts(span))
    }

    /// Goes on with what the worker wants.
    fn proceed(&mut self, number: usize, wait: bool) -> Fate {
        while let Some(span) = self.workers[number].wanted.first().copied() {
            let worker = &self.workers[number];
            let held = || worker.guards.iter().flatten();
            // Who holds locks already never waits, and passes those who wait.
            let nested = held().next().is_some();
            let inside = held().any(|other| other.lock == span.lock);
            let held = self.holders().any(|other| other.conflicts(&span));
            let queued = !nested && self.awaited(span.lock).any(|other| other.conflicts(&span));
            if self.is_borrowed(&span) {
                return Fate::Refused(LockError::Borrowed);
            }
            if held || queued {
                return if inside {
                    Fate::Refused(LockError::Reentrant)
                } else if wait && !nested {
                    Fate::Waits
                } else {
                    Fate::Refused(LockError::Busy)
                };
            }
            let worker = &mut self.workers[number];
            worker.taken.push(worker.wanted.remove(0));
        }
        Fate::Granted
    }

    /// Lets waiters of a lock in, and returns them.
    fn grant(&mut self, lock: usize) -> Vec<usize> {
        let mut granted = Vec::new();
        let mut staying: Vec<Span> = Vec::new();
        for number in std::mem::take(&mut self.queues[lock]) {
            let span = self.workers[number].wanted[0];
            let blocked = self.holders().any(|other| other.conflicts(&span))
                || staying.iter().any(|other| other.conflicts(&span));
            if blocked {
                staying.push(span);
                self.queues[lock].push(number);
            } else {
                let worker = &mut self.workers[number];
                worker.taken.push(worker.wanted.remove(0));
                granted.push(number);
            }
        }
        granted
    }

    fn is_idle(&self, number: usize) -> bool {
        self.workers[number].wanted.is_empty()
    }

    /// Whether the schedule is still predictable.
    fn take(&mut self, number: usize, spans: Vec<Span>, wait: bool) -> bool {
        if !self.is_idle(number) {
            return true;
        }
        self.workers[number].wanted = merge(&spans);
        let fate = self.proceed(number, wait);
        self.crew.send(number, Command::Take { spans, wait });
        match fate {
            Fate::Granted => {
                self.crew.expect(number, Event::Taken(Ok(())));
                let taken = std::mem::take(&mut self.workers[number].taken);
                self.workers[number].guards.push(taken);
                true
            }
            Fate::Waits => {
                self.crew.expect(number, Event::Waiting);
                let lock = self.workers[number].wanted[0].lock;
                self.queues[lock].push(number);
                true
            }
            Fate::Refused(error) => {
                self.workers[number].wanted.clear();
                let taken = std::mem::take(&mut self.workers[number].taken);
                // Nothing is held after an error: others may enter.
                self.released(number, taken, Event::Taken(Err(error)))
            }
        }
    }

    fn release(&mut self, number: usize, which: u8) -> bool {
        let count = self.workers[number].guards.len();
        if !self.is_idle(number) || count == 0 {
            return true;
        }
        let which = usize::from(which) % count;
        let spans = self.workers[number].guards.remove(which);
        self.crew.send(number, Command::Release { which });
        self.released(number, spans, Event::Released)
    }

    /// A worker gave up these cells: it says so, and those who were let in say so, in any order.
    fn released(&mut self, number: usize, spans: Vec<Span>, event: Event) -> bool {
        let granted: Vec<usize> =
            spans.iter().rev().flat_map(|span| self.grant(span.lock)).collect();
        if granted.iter().any(|waiter| !self.is_idle(*waiter)) {
            // They go on to their next locks, and race: nothing is predicted any more.
            self.finish(Some((number, event)));
            return false;
        }
        let mut expected: Vec<Report> =
            granted.iter().map(|waiter| (*waiter, Event::Taken(Ok(())))).collect();
        expected.push((number, event));
        while !expected.is_empty() {
            let report = self.crew.next();
            let place = expected.iter().position(|expected| *expected == report);
            expected.remove(place.unwrap_or_else(|| panic!("{report:?}, not {expected:?}")));
        }
        for waiter in granted {
            let taken = std::mem::take(&mut self.workers[waiter].taken);
            self.workers[waiter].guards.push(taken);
        }
        true
    }

    fn lend(&mut self, span: Span) {
        let held = self.holders().any(|other| other.conflicts(&span));
        let awaited = self.awaited(span.lock).any(|other| other.conflicts(&span));
        let expected = match (self.is_borrowed(&span), held || awaited) {
            (true, _) => Err(LockError::Borrowed),
            (false, true) => Err(LockError::Busy),
            (false, false) => Ok(()),
        };
        let lent = ALL[span.lock].try_borrow(span.range(), span.write);
        assert_eq!(lent.as_ref().map(|_| ()).map_err(|error| *error), expected, "{span:?}");
        if let Ok(borrow) = lent {
            self.borrows.push((span, borrow));
        }
    }

    fn give_back(&mut self, which: u8, raw: bool) {
        if self.borrows.is_empty() {
            return;
        }
        let (span, borrow) = self.borrows.swap_remove(usize::from(which) % self.borrows.len());
        if raw {
            // SAFETY: a borrow of this lock, once.
            drop(unsafe { Borrow::from_raw(&ALL[span.lock], borrow.into_raw()) });
        } else {
            drop(borrow);
        }
        // Nobody waits for a borrow.
    }

    /// In a child nobody holds or awaits anything, but borrows are there.
    fn fork(&mut self) {
        if std::mem::replace(&mut self.forked, true) {
            return;
        }
        // SAFETY: all other threads block, in a queue or for a command; the child runs nothing but
        // what is here, and leaves without handlers.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no fork");
        if child == 0 {
            let whole = |lock: usize, write| {
                let mut requests = [Request::new(&ALL[lock], 0..CELLS, write)];
                acquire_all(&mut requests).map(|_| ())
            };
            for lock in 0..LOCKS {
                let lent = |write| {
                    let span = Span { lock, start: 0, end: CELLS, write };
                    if self.is_borrowed(&span) { Err(LockError::Borrowed) } else { Ok(()) }
                };
                assert_eq!(whole(lock, true), lent(true), "in a child");
                assert_eq!(whole(lock, false), lent(false), "in a child");
            }
            self.borrows.clear();
            for (lock, held) in ALL.iter().enumerate() {
                assert_eq!(whole(lock, true), Ok(()), "in a child, with all borrows given back");
                assert!(held.is_idle());
            }
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // The fuzzer's alarm interrupts the wait.
        // SAFETY: the child.
        while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
            assert_eq!(Error::last_os_error().kind(), ErrorKind::Interrupted);
        }
        assert_eq!(status, 0, "the child failed; its message is above");
    }

    /// Everything is given back and released; the last waiters come to an end.
    fn finish(&mut self, mut pending: Option<Report>) {
        self.borrows.clear();
        // How many guards each has, and who is at work: with a request, or with a release.
        let mut guards: Vec<usize> = self.workers.iter().map(|w| w.guards.len()).collect();
        let mut busy: Vec<bool> = (0..WORKERS)
            .map(|number| !self.is_idle(number) || !self.workers[number].taken.is_empty())
            .collect();
        if let Some((number, _)) = pending {
            busy[number] = true;
        }
        loop {
            for number in 0..WORKERS {
                if !busy[number] && guards[number] > 0 {
                    self.crew.send(number, Command::Release { which: 0 });
                    (guards[number], busy[number]) = (guards[number] - 1, true);
                }
            }
            if busy.iter().all(|busy| !busy) {
                break;
            }
            let (number, event) = self.crew.next();
            if pending.as_ref().is_some_and(|(waits, _)| *waits == number) {
                let expected = pending.take();
                assert_eq!(Some((number, event)), expected);
                busy[number] = false;
                continue;
            }
            match event {
                Event::Waiting => continue,
                Event::Released => {}
                Event::Taken(Ok(())) => guards[number] += 1,
                // Its own guards are in the way, or it has some and does not wait.
                Event::Taken(Err(error)) => {
                    assert!(matches!(error, LockError::Reentrant | LockError::Busy));
                }
            }
            busy[number] = false;
        }
        self.workers = Default::default();
        self.queues = Default::default();
    }

    fn step(&mut self, step: Step) -> bool {
        let worker = |number: u8| usize::from(number) % WORKERS;
        match step {
            Step::Take { worker: number, cells, wait } => {
                self.take(worker(number), cells.span().into_iter().collect(), wait)
            }
            Step::TakeAll { worker: number, cells, wait } => {
                let spans = cells.iter().filter_map(|cells| cells.span()).collect();
                self.take(worker(number), spans, wait)
            }
            Step::Release { worker: number, which } => self.release(worker(number), which),
            Step::Lend { cells } => {
                if let Some(span) = cells.span() {
                    self.lend(span);
                }
                true
            }
            Step::GiveBack { which, raw } => {
                self.give_back(which, raw);
                true
            }
            Step::Fork { seldom } => {
                if seldom % 64 == 63 {
                    self.fork();
                }
                true
            }
        }
    }
}

fuzz_target!(|steps: Vec<Step>| {
    static CREW: LazyLock<Mutex<Crew>> = LazyLock::new(|| Mutex::new(Crew::new()));
    let crew = CREW.lock().expect("a finding ends the process");
    let mut model = Model {
        crew: &crew,
        workers: Default::default(),
        queues: Default::default(),
        borrows: Vec::new(),
        forked: false,
    };
    let predictable = steps.iter().all(|step| model.step(*step));
    if predictable {
        model.finish(None);
    }
    for (lock, cells) in ALL.iter().zip(&INSIDE) {
        assert!(lock.is_idle(), "a lock that nobody uses");
        assert!(cells.iter().all(|cell| cell.load(SeqCst) == 0));
        let mut requests = [Request::new(lock, 0..CELLS, true)];
        assert!(try_acquire_all(&mut requests).is_ok());
    }
});
