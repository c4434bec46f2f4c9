import ApproovTesting
import Foundation
import TestTags
import Testing

/// Runs Scripts/build-release in a small repository, with fakes of the compiler and of the package tools.
@Suite("Scripts/build-release", .tags(.processes), .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/git")))
struct BuildReleaseTests {
    /// A file that the test adds after the release's commit, and whether it is a part of the build.
    private static let files = [("Sources/new.swift", true), ("notes.txt", false), ("Sources/ignored.o", false)]

    @Test("Only a commit with the release's tag, without sources besides it, makes a package of that version", arguments: files)
    func version(file: String, isSource: Bool) async throws {
        let folder = try TemporaryFolder()
        let script = #"""
            set -e
            mkdir -p top/Scripts top/Sources fakes
            cp "$REPOSITORY/Scripts/build-release" top/Scripts/
            cp -r "$REPOSITORY/Packaging" "$REPOSITORY/README.md" "$REPOSITORY/CHANGELOG.md" "$REPOSITORY/SECURITY.md" top/
            fake() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod 755 "$1"; }
            fake top/Scripts/setup ''
            fake top/Scripts/smoke ''
            fake fakes/swift 'case "$*" in *--show-bin-path) echo "'"$PWD"'/fakes" ;; esac'
            fake fakes/approov 'echo approov 1.2.3'
            fake fakes/strip ''
            fake fakes/dpkg 'echo amd64'
            fake fakes/dpkg-deb ''
            fake fakes/dpkg-shlibdeps 'echo shlibs:Depends=libc6'
            cd top
            printf '%s\n' '*.o' >.gitignore
            git init -q .
            git add .
            git -c user.name=x -c user.email=x@example.com commit -q -m release
            git tag 1.2.3
            touch "$1"
            PATH="$OLDPWD/fakes:$PATH" bash Scripts/build-release "$OLDPWD/out"
            """#
        _ = try folder.write(script, to: "try")
        let run = try await ChildProcess.run(
            URL(filePath: "/bin/bash"), ["try", file], in: folder.url,
            environment: [
                "HOME": folder.url.path(percentEncoded: false), "PATH": "/usr/bin:/bin",
                "REPOSITORY": Repository.root.path(percentEncoded: false), "GIT_CONFIG_NOSYSTEM": "1",
            ])
        #expect(run.exitCode == 0, "\(run.errors)")
        let name = try #require(run.lines.last).split(separator: "/").last ?? ""
        #expect(isSource ? name.hasPrefix("approov_1.2.3~git") : name == "approov_1.2.3_amd64.deb", "\(name)")
    }
}
