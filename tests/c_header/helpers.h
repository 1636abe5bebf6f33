/** Bytes of the function table up to and with a member, for denizen_import_sized(). */
#define DENIZEN_API_SIZE_WITH(member) \
    (offsetof(denizen_api, member) + sizeof(((denizen_api *)0)->member))

/**
 * The function table of the installed runtime, of which this client uses the first `size` bytes;
 * imports the package if need be. NULL with an ImportError set where denizen is not installed
 * (ModuleNotFoundError), is another version of the interface, or lacks members. GIL held.
 */
static inline const denizen_api *denizen_import_sized(size_t size)
{
    const denizen_api *api = (const denizen_api *)PyCapsule_Import(DENIZEN_CAPSULE_NAME, 0);
    if (api == NULL) {
        return NULL;
    }
    if (api->abi_version >> 16 != DENIZEN_ABI_VERSION >> 16) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for interface %u.%u of denizen (version %s), the "
                     "installed denizen %s has interface %u.%u: rebuild the one that is older",
                     (unsigned)(DENIZEN_ABI_VERSION >> 16), (unsigned)(DENIZEN_ABI_VERSION & 0xffff),
                     DENIZEN_VERSION, api->runtime_version, (unsigned)(api->abi_version >> 16),
                     (unsigned)(api->abi_version & 0xffff));
        return NULL;
    }
    if (api->struct_size < size) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for denizen %s (interface %u.%u) and needs %zu bytes "
                     "of its function table, the installed denizen %s (interface %u.%u) has %zu: "
                     "upgrade denizen",
                     DENIZEN_VERSION, (unsigned)(DENIZEN_ABI_VERSION >> 16),
                     (unsigned)(DENIZEN_ABI_VERSION & 0xffff), size, api->runtime_version,
                     (unsigned)(api->abi_version >> 16), (unsigned)(api->abi_version & 0xffff),
                     api->struct_size);
        return NULL;
    }
    return api;
}

/** The function table of the installed runtime with every member that this header knows. */
static inline const denizen_api *denizen_import(void)
{
    return denizen_import_sized(sizeof(denizen_api));
}

/**
 * Whether a cell is vacant: `vacancy_bytes` points to the first of its vacancy bytes (to the cell
 * itself, for a type that is stored inline), of which there are `size`.
 */
static inline int denizen_is_vacant(const void *vacancy_bytes, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)vacancy_bytes;
    for (size_t index = 0; index < size; index++) {
        if (bytes[index] != 0) {
            return 0;
        }
    }
    return 1;
}

/**
 * Records a failure and returns DENIZEN_FAILED, so that functions can `return denizen_fail(..)`.
 * The text is UTF-8, cut at a character boundary where it does not fit.
 */
static inline denizen_status denizen_fail(denizen_error *error_out, denizen_error_kind kind,
                                          const char *text)
{
    size_t end = 0;
    error_out->kind = kind;
    while (end < DENIZEN_MESSAGE_SIZE - 1 && text[end] != '\0') {
        end++;
    }
    if (text[end] != '\0') {
        while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
            end--;
        }
    }
    memcpy(error_out->message, text, end);
    error_out->message[end] = '\0';
    return DENIZEN_FAILED;
}
