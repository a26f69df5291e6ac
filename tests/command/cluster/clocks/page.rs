//! A page of memory that the machine which runs the hosts shares with them: a host asks in it what the machine's clock says.
//! Each host has a line of the page for itself: a number that it writes with each question, the same number in the answer, and the
//! machine's time.

use super::super::REPOSITORY;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, hint};

/// What a process is told that asks for its host: the folder for what it finds.
pub const VARIABLE: &str = "VERBCAST_TEST_CLOCKS";
/// The test that is such a process.
pub const SELF: &str = "cluster::clocks::page::of_a_host";
/// The file in the folder that ends it.
pub const OVER: &str = "over";

const LEN: usize = 4096;
/// As many hosts as a cluster can have.
const HOSTS: usize = 8;
/// Between two samples, each of which is the best of so many questions.
const INTERVAL: Duration = Duration::from_millis(20);
const QUESTIONS: usize = 5;
/// How long a host asks, and for an answer, at most.
const PATIENCE: Duration = Duration::from_secs(200);
/// What nobody asks anything of for so long is looked at less often.
const QUIET: Duration = Duration::from_secs(1);

/// One host's part of the page; alone in what caches keep together.
#[repr(C, align(64))]
struct Line {
    asked: AtomicU64,
    answered: AtomicU64,
    time: AtomicU64,
}

struct Page(NonNull<Line>);

// SAFETY: what is in the page is atomic.
unsafe impl Send for Page {}

impl Page {
    fn map(file: &File) -> Page {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of which nobody else in this process knows.
        let at = unsafe { mmap(std::ptr::null_mut(), LEN, protection, MapFlags::SHARED, file, 0) };
        Page(NonNull::new(at.unwrap().cast()).unwrap())
    }

    /// In a host: the memory of the device that it is there.
    fn of_device() -> Page {
        let devices = fs::read_dir("/sys/bus/pci/devices").unwrap();
        let is = |path: &Path, name: &str, expected: &str| {
            fs::read_to_string(path.join(name)).unwrap().trim() == expected
        };
        let mut paths = devices.map(|entry| entry.unwrap().path());
        let found = paths.find(|path| is(path, "vendor", "0x1af4") && is(path, "device", "0x1110"));
        let path = found.expect("the host has an ivshmem device").join("resource2");
        Page::map(&OpenOptions::new().read(true).write(true).open(path).unwrap())
    }

    fn lines(&self) -> &[Line] {
        // SAFETY: the page is longer than these lines, mapped as long as this is there, and any bytes are numbers.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), HOSTS) }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), LEN) };
    }
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// The machine's side: a thread that answers.
pub struct Echo {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    pub fn start() -> Echo {
        let path = Path::new(REPOSITORY).join("target/softroce/page");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .unwrap();
        file.set_len(LEN as u64).unwrap();
        let (page, is_over) = (Page::map(&file), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&is_over);
        Echo { is_over, thread: Some(thread::spawn(move || answer(&page, &until))) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn answer(page: &Page, until: &AtomicBool) {
    let mut last = Instant::now();
    while !until.load(Ordering::Relaxed) {
        for line in page.lines() {
            let asked = line.asked.load(Ordering::Acquire);
            if asked != line.answered.load(Ordering::Relaxed) {
                line.time.store(now(), Ordering::Relaxed);
                line.answered.store(asked, Ordering::Release);
                last = Instant::now();
            }
        }
        if last.elapsed() > QUIET {
            thread::sleep(Duration::from_millis(10));
        } else {
            thread::yield_now();
        }
    }
}

/// A question and its answer, in nanoseconds: the machine's clock was looked at between two looks at the host's.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub sent: i128,
    pub machine: i128,
    pub received: i128,
}

fn ask(line: &Line) -> Sample {
    let number = line.asked.load(Ordering::Relaxed) + 1;
    let (began, sent) = (Instant::now(), now());
    line.asked.store(number, Ordering::Release);
    while line.answered.load(Ordering::Acquire) != number {
        assert!(began.elapsed() < PATIENCE, "the machine does not answer");
        hint::spin_loop();
    }
    let received = now();
    let machine = line.time.load(Ordering::Relaxed);
    Sample { sent: sent.into(), machine: machine.into(), received: received.into() }
}

/// The samples that a host has written.
pub fn read(path: &Path) -> Vec<Sample> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| {
            let numbers: Vec<i128> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [sent, machine, received] = numbers[..] else { panic!("{line}") };
            Sample { sent, machine, received }
        })
        .collect()
}

/// Not a test of its own: a host that asks until there is a certain file, if this process is told to.
#[test]
fn of_a_host() {
    let Some(folder) = env::var_os(VARIABLE).map(PathBuf::from) else { return };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    let number: usize = host.strip_prefix("node").unwrap().parse().unwrap();
    let path = folder.join(format!("page-{host}"));
    let (page, began, mut text) = (Page::of_device(), Instant::now(), String::new());
    let line = &page.lines()[number - 1];
    let mut is_there = false;
    while !folder.join(OVER).exists() {
        assert!(began.elapsed() < PATIENCE, "nobody has ended it");
        let all = std::iter::repeat_with(|| ask(line)).take(QUESTIONS);
        let Sample { sent, machine, received } =
            all.min_by_key(|sample| sample.received - sample.sent).unwrap();
        writeln!(text, "{sent} {machine} {received}").unwrap();
        if !is_there {
            // Who waits for this sees that it asks.
            fs::write(&path, &text).unwrap();
            is_there = true;
        }
        thread::sleep(INTERVAL);
    }
    fs::write(&path, &text).unwrap();
}
