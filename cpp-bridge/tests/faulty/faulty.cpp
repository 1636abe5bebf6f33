// Faults on purpose: .ci/asan and .ci/valgrind-cpp first see that each is found, so that their silence
// about the other modules means something.
#include <Python.h>

#include <memory>

namespace {

// An object of 40 bytes that nobody frees.
PyObject* leak(PyObject*, PyObject*)
{
    volatile char* lost = new char[40];
    lost[0] = 1;
    lost = nullptr;
    Py_RETURN_NONE;
}

// Reads an object that is gone.
PyObject* read_freed(PyObject*, PyObject*)
{
    auto owner = std::make_unique<long>(7);
    const volatile long* gone = owner.get();
    owner.reset();
    return PyLong_FromLong(*gone);
}

PyMethodDef methods[] = {{"leak", leak, METH_NOARGS, nullptr},
                         {"read_freed", read_freed, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "faulty", nullptr, -1, methods, {}, {}, {}, {}};

} // namespace

PyMODINIT_FUNC PyInit_faulty()
{
    return PyModule_Create(&definition);
}
