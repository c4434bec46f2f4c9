import ApproovBase
import ApproovTesting
import Testing

@Suite struct WorkMarksTests {
    private final class Mark: WorkMark {
        let spread = Shared(0)
        func didSpread() { spread.change { $0 += 1 } }
    }

    @Test("A task's own tasks have its marks, a detached one has none, and marks within others have theirs, too")
    func inheritance() async {
        let (outer, inner) = (Mark(), Mark())
        let marks = WorkMarks(inner, within: WorkMarks(outer))
        await WorkMarks.$current.withValue(marks) {
            async let child = WorkMarks.current
            #expect(await child === marks)
            #expect(await Task { WorkMarks.current }.value === marks)
            #expect(await Task.detached { WorkMarks.current }.value == nil)
        }
        #expect(WorkMarks.current == nil)
        #expect(marks.contains { $0 === outer } && marks.contains { $0 === inner })
    }

    @Test("Marks reach an operation through others that it has joined before, and are told once for each that joins")
    func chain() {
        let mark = Mark()
        let (first, second) = (WorkMarks(), WorkMarks())
        WorkMarks.$current.withValue(first) { second.joinCurrent() }
        #expect(!second.contains { _ in true })
        WorkMarks.$current.withValue(WorkMarks(mark)) {
            first.joinCurrent()
            first.joinCurrent()
        }
        #expect(second.contains { $0 === mark })
        #expect(mark.spread.value == 1)
        first.end()
        #expect(!second.contains { _ in true })
    }

    @Test("Operations that wait for each other have each other's marks, and looking for one ends")
    func circle() {
        let mark = Mark()
        let (first, second) = (WorkMarks(mark), WorkMarks())
        WorkMarks.$current.withValue(first) { second.joinCurrent() }
        WorkMarks.$current.withValue(second) {
            first.joinCurrent()
            second.joinCurrent()
        }
        #expect(first.contains { $0 === mark } && second.contains { $0 === mark })
        #expect(!first.contains { _ in false })
        first.end()
        second.end()
    }
}
