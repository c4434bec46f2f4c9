/// An error that ends a request at once: no interceptor is asked whether to send it again.
struct FinalError: Error {
    let cause: any Error
}
