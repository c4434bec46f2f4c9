internal import NIOCore

/// Runs tasks on an event loop's thread, where a connection's bytes come and go.
///
/// A task that answers a request there needs no other thread to be woken, neither when the request has come nor when the answer goes out.
final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
