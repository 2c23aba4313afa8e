#include "rewriters/syntax/build_types.h"

#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Basic/SourceManager.h>

#include <set>

namespace hone::syntax {
namespace {

/// float4, uchar2, __half2 …: a struct of the prelude whose fields are all of one scalar type.
bool is_vector_record(const clang::RecordDecl& record, const clang::SourceManager& sources) {
  if (sources.isInMainFile(sources.getExpansionLoc(record.getLocation()))) return false;
  static const std::set<std::string> bases = {
      "char",  "uchar",    "short",     "ushort", "int",    "uint",   "long",
      "ulong", "longlong", "ulonglong", "float",  "double", "__half", "__nv_bfloat16"};
  std::string name = record.getNameAsString();
  if (name.empty() || name.back() < '1' || name.back() > '4') return false;
  name.pop_back();
  return bases.count(name) != 0;
}

}  // namespace

TypeConverter::TypeConverter(const clang::ASTContext& context)
    : context_(context), policy_(context.getLangOpts()) {
  policy_.SuppressTagKeyword = true;
  policy_.Bool = true;
}

Type TypeConverter::convert(clang::QualType written) {
  if (written.isNull()) return {};
  const clang::QualType type = written.getNonReferenceType().getCanonicalType();
  if (const auto known = known_.find(type.getAsOpaquePtr()); known != known_.end())
    return known->second;
  return known_.emplace(type.getAsOpaquePtr(), converted(type)).first->second;
}

Type TypeConverter::converted(clang::QualType type) {
  Type result;
  const clang::Type& plain = *type.getTypePtr();
  result.spelling = type.getAsString(policy_);
  result.name = type.getUnqualifiedType().getAsString(policy_);
  result.is_const = type.isConstQualified();
  result.is_volatile = type.isVolatileQualified();
  result.is_restrict = type.isRestrictQualified();
  if (plain.isDependentType()) {
    // The shape may still be known: T* is a pointer to something.
    if (const auto* pointer = plain.getAs<clang::PointerType>()) {
      result.kind = Type::Kind::kPointer;
      result.bytes = 8;
      result.element = std::make_shared<Type>(convert(pointer->getPointeeType()));
    } else if (plain.isArrayType()) {
      const clang::ArrayType* array = context_.getAsArrayType(type);
      result.kind = Type::Kind::kArray;
      result.element = std::make_shared<Type>(convert(array->getElementType()));
      if (const auto* sized = clang::dyn_cast<clang::ConstantArrayType>(array)) {
        result.extent = static_cast<std::int64_t>(sized->getSize().getZExtValue());
      }
    }
    return result;
  }
  if (!plain.isIncompleteType() && !plain.isFunctionType() && !plain.isVoidType() &&
      !plain.isPlaceholderType()) {
    result.bytes = static_cast<int>(context_.getTypeSizeInChars(type).getQuantity());
  }
  if (plain.isVoidType()) {
    result.kind = Type::Kind::kVoid;
  } else if (plain.isBooleanType()) {
    result.kind = Type::Kind::kBool;
  } else if (plain.isIntegralOrEnumerationType()) {
    result.kind = Type::Kind::kInt;
    result.is_signed = plain.isSignedIntegerOrEnumerationType();
  } else if (plain.isFloatingType()) {
    result.kind = Type::Kind::kFloat;
    result.is_signed = true;
  } else if (const auto* pointer = plain.getAs<clang::PointerType>()) {
    result.kind = Type::Kind::kPointer;
    result.element = std::make_shared<Type>(convert(pointer->getPointeeType()));
  } else if (plain.isArrayType()) {
    const clang::ArrayType* array = context_.getAsArrayType(type);
    result.kind = Type::Kind::kArray;
    result.element = std::make_shared<Type>(convert(array->getElementType()));
    if (const auto* sized = clang::dyn_cast<clang::ConstantArrayType>(array)) {
      result.extent = static_cast<std::int64_t>(sized->getSize().getZExtValue());
    }
  } else if (const auto* record = plain.getAsCXXRecordDecl()) {
    const std::string name = record->getNameAsString();
    const clang::SourceManager& sources = context_.getSourceManager();
    if (name == "__half" || name == "__nv_bfloat16" || name == "__nv_fp8_e4m3" ||
        name == "__nv_fp8_e5m2") {
      result.kind = Type::Kind::kFloat;
      result.is_signed = true;
    } else if (is_vector_record(*record, sources)) {
      result.kind = Type::Kind::kVector;
      result.lanes = name.back() - '0';
      if (record->field_begin() != record->field_end()) {
        result.element = std::make_shared<Type>(convert(record->field_begin()->getType()));
      }
    } else {
      result.kind = Type::Kind::kStruct;
      if (record->hasDefinition() && record->getNumBases() == 0) {
        for (const clang::FieldDecl* field : record->fields())
          result.fields.push_back(field->getNameAsString());
      }
    }
  }
  return result;
}

}  // namespace hone::syntax
