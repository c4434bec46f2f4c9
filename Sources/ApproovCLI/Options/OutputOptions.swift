import ArgumentParser

/// The option `--json`, for commands whose result a program may read.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON instead of text.")
    var json = false
}
