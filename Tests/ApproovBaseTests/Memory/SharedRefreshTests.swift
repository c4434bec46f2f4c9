import ApproovBase
import ApproovTesting
import Testing

@Suite struct SharedRefreshTests {
    @Test("Concurrent callers share one run, and the next run begins only after the interval")
    func shared() async {
        let clock = ManualClock()
        let refresh = SharedRefresh(interval: .seconds(5), time: clock)
        let runs = Shared(0)
        let work: @Sendable () async -> Void = {
            runs.change { $0 += 1 }
            await Task.yield()
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await refresh.run(work) } }
        }
        #expect(runs.value == 1)
        clock.advance(by: .milliseconds(4_999))
        await refresh.run(work)
        #expect(runs.value == 1)
        clock.advance(by: .milliseconds(1))
        await refresh.run(work)
        #expect(runs.value == 2)
    }

    @Test("A cancelled caller stops waiting, and the run continues for the other callers")
    func cancellation() async {
        let refresh = SharedRefresh(interval: .seconds(5), time: ManualClock())
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let ended = Shared(false)
        let work: @Sendable () async -> Void = {
            for await _ in gate {}
            ended.value = true
        }
        let impatient = Task { await refresh.run(work) }
        impatient.cancel()
        await impatient.value
        #expect(!ended.value)
        let patient = Task { await refresh.run(work) }
        open.finish()
        await patient.value
        #expect(ended.value)
    }

    private final class Mark: WorkMark {
        let spread = Shared(0)
        func didSpread() { spread.change { $0 += 1 } }
    }

    @Test("A caller learns for which subject the work was that it waited for")
    func subjects() async {
        let refresh = SharedRefresh(interval: .zero, time: ManualClock())
        let (gate, ran) = (Gate(), Shared<[String]>([]))
        let first = Task {
            await refresh.run(for: "a") {
                try? await gate.wait()
                ran.change { $0.append("a") }
            }
        }
        #expect(await eventually { gate.waiterCount == 1 })
        let mark = Mark()
        let second = Task {
            await WorkMarks.$current.withValue(WorkMarks(mark)) { await refresh.run(for: "b") { ran.change { $0.append("b") } } }
        }
        // It has joined.
        #expect(await eventually { mark.spread.value == 1 })
        gate.open()
        #expect(await first.value == "a")
        #expect(await second.value == "a")
        #expect(await refresh.run(for: "b") { ran.change { $0.append("b") } } == "b")
        #expect(ran.value == ["a", "b"])
    }

    private enum Local {
        @TaskLocal static var text = ""
    }

    @Test("A run has the task-local values of the caller that began it, and the marks of all callers while it runs")
    func taskLocals() async {
        let refresh = SharedRefresh(interval: .zero, time: ManualClock())
        let (begun, gate) = (Gate(), Gate())
        let seen = Shared<WorkMarks?>(nil)
        let text = Shared("")
        let first = Task {
            await Local.$text.withValue("first") {
                await refresh.run {
                    text.value = Local.text
                    seen.value = WorkMarks.current
                    begun.open()
                    try? await gate.wait()
                }
            }
        }
        try? await begun.wait()
        #expect(text.value == "first")
        #expect(seen.value?.contains { _ in true } == false)
        let mark = Mark()
        let second = Task {
            await WorkMarks.$current.withValue(WorkMarks(mark)) { await refresh.run {} }
        }
        #expect(await eventually { mark.spread.value == 1 })
        #expect(seen.value?.contains { $0 === mark } == true)
        gate.open()
        await first.value
        await second.value
        #expect(await eventually { seen.value?.contains { _ in true } == false })
    }
}
