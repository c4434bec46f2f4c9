#pragma once
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Functions for what Swift cannot do: casts of socket addresses.

/// Opens a socket of the kernel's routing messages that gets the changes of links, addresses and routes; -1 with errno when it cannot.
static inline int CNetlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) { return -1; }
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;
    return bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0 ? descriptor : (close(descriptor), -1);
}

/// Asks the kernel to list all objects of a kind (RTM_GETLINK or RTM_GETROUTE); 0, or -1 with errno.
static inline int CNetlink_dump(int descriptor, uint16_t kind, uint32_t sequence) {
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
    } request;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body);
    request.header.nlmsg_type = kind;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.header.nlmsg_seq = sequence;
    request.body.rtgen_family = AF_UNSPEC;
    return send(descriptor, &request, request.header.nlmsg_len, 0) < 0 ? -1 : 0;
}

/// Receives one datagram without waiting.
///
/// Returns its whole length, which is larger than `size` if the buffer was too small; -1 with errno. `is_kernel` tells whether the kernel
/// sent it, and not another process.
static inline long CNetlink_receive(int descriptor, void *buffer, size_t size, int *is_kernel) {
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    socklen_t length = sizeof address;
    long count = recvfrom(descriptor, buffer, size, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&address, &length);
    *is_kernel = length >= sizeof address && address.nl_family == AF_NETLINK && address.nl_pid == 0;
    return count;
}

/// Whether the kernel has a route to an address (16 bytes for IPv6, 4 for IPv4): 1 or 0; -1 if that is not known. Nothing is sent.
static inline int CNetlink_has_route(const void *bytes, size_t count) {
    struct sockaddr_storage address;
    memset(&address, 0, sizeof address);
    socklen_t length;
    if (count == 4) {
        struct sockaddr_in *to = (struct sockaddr_in *)&address;
        to->sin_family = AF_INET;
        to->sin_port = htons(9);
        memcpy(&to->sin_addr, bytes, 4);
        length = sizeof *to;
    } else {
        struct sockaddr_in6 *to = (struct sockaddr_in6 *)&address;
        to->sin6_family = AF_INET6;
        to->sin6_port = htons(9);
        memcpy(&to->sin6_addr, bytes, 16);
        length = sizeof *to;
    }
    int descriptor = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) { return -1; }
    // Connecting a datagram socket only looks the route up.
    int result = connect(descriptor, (struct sockaddr *)&address, length);
    int number = errno;
    close(descriptor);
    if (result == 0) { return 1; }
    return number == ENETUNREACH || number == EHOSTUNREACH || number == EADDRNOTAVAIL ? 0 : -1;
}
