import ApproovBase
import ApproovAuthority
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

@Suite("A full disk", .tags(.processes))
struct FullDiskTests {
    @Test(
        "The app keeps the old configuration, reports the failure, and stores the new one once there is room",
        .enabled("only root may mount a small disk: no disk was filled", SmallDisk.isAvailable))
    func configuration() async throws {
        let files = try WriterFiles()
        let run = try await SmallDisk.run(
            """
            "$1" "$D" "$2" "$3" || exit 1
            cp "$D/approov-dynamic.json" "$5/before"
            fill
            "$1" "$D" "$2" "$4" && exit 2
            cmp "$D/approov-dynamic.json" "$5/before" || exit 3
            ls "$D" | grep -q tmp && exit 4
            free
            "$1" "$D" "$2" "$4" || exit 5
            cmp -s "$D/approov-dynamic.json" "$5/before" && exit 6
            exit 0
            """, at: files.state, size: "64k",
            arguments: [
                ProgramRun.writer, files.initialPath, try files.candidates([2]), try files.candidates([3]),
                files.folder.url.path(percentEncoded: false),
            ])
        #expect(run.exitCode == 0, "step \(run.exitCode): \(run.errors)")
        #expect(run.stored == [2, 3])
        #expect(run.errors.contains("No space left on device") && run.errors.contains("its earlier content is unchanged"), "\(run.errors)")
    }

    @Test(
        "The authority keeps its store, reports the failure, and accepts the change once there is room",
        .enabled("only root may mount a small disk: no disk was filled", SmallDisk.isAvailable))
    func authorityStore() async throws {
        let folder = try TemporaryFolder()
        let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }
        let run = try await SmallDisk.run(
            """
            "$1" api -add one.test -pin "$2" -pin "$3" --data "$D/data" || exit 1
            fill
            for i in 1 2 3; do "$1" api -add two.test -pin "$2" -pin "$3" --data "$D/data" && exit 2; done
            free
            "$1" api -list --data "$D/data" > "$4/list" || exit 3
            grep -q one.test "$4/list" || exit 4
            grep -q two.test "$4/list" && exit 5
            "$1" api -add two.test -pin "$2" -pin "$3" --data "$D/data" || exit 6
            "$1" api -list --data "$D/data" | grep -q two.test || exit 7
            exit 0
            """, at: folder.file("disk"), size: "1m",
            arguments: [ChildProcess.approov.path(percentEncoded: false), pins[0], pins[1], folder.url.path(percentEncoded: false)])
        #expect(run.exitCode == 0, "step \(run.exitCode): \(run.errors)")
        let lines = run.errors.split(separator: "\n").filter { !$0.contains("made a new store") }
        #expect(lines.count == 3 && lines.allSatisfy { $0.contains("check the disk") }, "\(lines)")
    }
}
