//! Tasks on the thread of the loop: a place where they run, and a signal that ends them.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures_executor::{LocalPool, LocalSpawner};
use futures_util::FutureExt;
use futures_util::task::LocalSpawnExt;

/// Runs tasks as far as they get, when it is told to.
#[derive(Debug, Default)]
pub struct Pool(LocalPool);

impl Pool {
    /// Runs every task that was woken until all wait.
    pub fn run(&mut self) {
        self.0.run_until_stalled();
    }

    /// Where tasks are put.
    pub fn spawner(&self) -> Spawner {
        Spawner(self.0.spawner())
    }
}

/// Puts tasks into a pool.
#[derive(Clone, Debug)]
pub struct Spawner(LocalSpawner);

impl Spawner {
    /// A task. One that panics ends alone, and then `on_panic` is called: what a library does with
    /// a stranger's bytes must not end a server.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static, on_panic: impl FnOnce() + 'static) {
        let guarded = AssertUnwindSafe(task).catch_unwind();
        let task = async move {
            if guarded.await.is_err() {
                on_panic();
            }
        };
        // Without a pool there is nobody left to run it.
        let _ = self.0.spawn_local(task);
    }
}

/// A signal that is given once.
#[derive(Clone, Default)]
pub struct Signal(Rc<RefCell<(bool, Vec<Waker>)>>);

impl Signal {
    /// Gives it.
    pub fn give(&self) {
        let wakers = {
            let mut state = self.0.borrow_mut();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// It was given.
    pub fn is_given(&self) -> bool {
        self.0.borrow().0
    }

    /// Waits for it.
    pub async fn wait(&self) {
        poll_fn(|cx| {
            let mut state = self.0.borrow_mut();
            if state.0 {
                return Poll::Ready(());
            }
            if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.1.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", self.is_given())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// One that panics is told of, and the others go on.
    #[test]
    fn a_panic_ends_one_task() {
        let mut pool = Pool::default();
        let (said, came, signal) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)), Signal::default());
        for n in 0..3 {
            let (said, came, signal) = (Rc::clone(&said), Rc::clone(&came), signal.clone());
            let task = async move {
                assert!(n != 1, "as tested");
                signal.wait().await;
                came.set(came.get() + 1);
            };
            pool.spawner().spawn(task, move || said.set(said.get() + 1));
        }
        pool.run();
        assert_eq!((said.get(), came.get()), (1, 0));
        signal.give();
        pool.run();
        assert_eq!((said.get(), came.get()), (1, 2));
    }
}
